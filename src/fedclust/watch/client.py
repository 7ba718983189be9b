"""Watch a client: what has left it, what it allows, and whether it is connected.

Only the files of its own kit are read: the log of disclosures, the ledger, the decisions of its
owner, and the time of the latest heartbeat that the server answered.
"""

import contextlib
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Any

from ..client.config import CLIENT_FILE, read_client_config
from ..core import FedclustError
from ..deploy.client_monitor import CONTACT_LIMIT
from ..deploy.kits import read_kit
from ..follow.decisions import Approvals
from ..progress.follow import Follower
from .view import Fact, Headline, Message, Tone, Total, View
from .words import data_size, several, some

_SHOWN = 200  # messages
_KINDS = {"PairwiseMasks": "masks", "IntegerGaussian": "noise", "GroupedRows": "groups"}
_NONE = "-"


@dataclass
class _Sum:
    """What left in one study."""

    study: str
    hash: str
    to: set[str] = field(default_factory=set)
    replies: int = 0
    bytes: int = 0
    refusals: int = 0
    kinds: set[str] = field(default_factory=set)
    protection: set[str] = field(default_factory=set)
    first: str = ""
    last: str = ""

    def add(self, line: Mapping[str, Any]) -> None:
        self.to.add(str(line.get("to", "")) or "unnamed")
        self.bytes += int(line.get("bytes", 0))
        self.first, self.last = self.first or str(line["when"]), str(line["when"])
        if "refused" in line:
            self.refusals += 1
            return
        self.replies += 1
        self.kinds.add(str(line.get("plan") or line.get("kind", "")))
        self.protection |= set(_protection(line))


class ClientWatch:
    """Reads the files of one kit; `look` takes in what is new."""

    def __init__(self, kit: Path) -> None:
        self._kit = read_kit(kit, "client")
        config = read_client_config(kit / CLIENT_FILE)
        self._consent, self._policy = config.consent, config.policy()
        self._log = Follower(config.place(config.output.disclosures))
        self._approvals = Approvals(kit)
        self._clear()

    def _clear(self) -> None:
        self._sums: dict[tuple[str, str], _Sum] = {}
        self._latest: deque[Mapping[str, Any]] = deque(maxlen=_SHOWN)
        self._n = self._bytes = 0
        self._refusal: Mapping[str, Any] | None = None  # unless something was answered since

    def look(self) -> View:
        """What is known now."""
        if self._log.restarts():
            self._clear()
        for line in self._log.read_new():
            with contextlib.suppress(KeyError, TypeError, ValueError):
                self._take(line)
        waiting = self._approvals.pending_names()
        return View(
            kind="client",
            title=self._kit.name,
            over=f"Client of {self._kit.federation.name}",
            headline=self._headline(waiting),
            facts=tuple(self._facts()),
            privacy=tuple(self._rules()),
            warnings=tuple(self._warnings(waiting)),
            totals=tuple(map(self._total, reversed(self._sums.values()))),
            messages=tuple(map(_message, reversed(self._latest))),
            more_messages=max(0, self._n - len(self._latest)),
        )

    def _take(self, line: Mapping[str, Any]) -> None:
        key = (str(line.get("study", "")), str(line.get("study_hash", "")))
        self._sums.setdefault(key, _Sum(*key)).add(line)
        self._latest.append(line)
        self._n, self._bytes = self._n + 1, self._bytes + int(line.get("bytes", 0))
        self._refusal = line if "refused" in line else None

    def _headline(self, waiting: list[str]) -> Headline:
        if waiting:
            text = f"Waiting for your approval: {some(waiting)}. Decide with: fedclust approve "
            return Headline(text + str(self._kit.folder), Tone.WAITING)
        left = self._describe_left()
        if self._refusal is not None:
            text = f"Refused the latest request: {self._refusal['refused']}. {left}"
            return Headline(text, Tone.ALARM, str(self._refusal["when"]))
        return Headline(left, Tone.CALM, self._latest[-1]["when"] if self._latest else None)

    def _describe_left(self) -> str:
        replies = sum(one.replies for one in self._sums.values())
        if not self._n:
            return f"Nothing has left {self._kit.name}"
        if not replies:
            return (
                f"Nothing but refusals has left {self._kit.name}, {data_size(self._bytes)} in all"
            )
        studies = several(len({one.study for one in self._sums.values()}), "study", "studies")
        have = "has" if replies == 1 else "have"
        return (
            f"{several(replies, 'reply', 'replies')} in {studies} {have} left {self._kit.name}, "
            f"{data_size(self._bytes)} in all; the log below has every message"
        )

    def _facts(self) -> Iterator[Fact]:
        contact = self._last_contact()
        connected = contact is not None and time.time() - contact < CONTACT_LIMIT
        heard = None if contact is None else datetime.fromtimestamp(contact, UTC).isoformat()
        yield Fact("server", "connected" if connected else "not connected", "")
        yield Fact("last heard of it", "" if heard else "never", since=heard)
        ledger = self._policy.ledger
        with contextlib.suppress(FedclustError, OSError):
            ledger.refresh()
        yield Fact("queries", f"{ledger.n_queries:,}", f"of {self._consent.max_queries:,} allowed")
        budget = self._consent.epsilon
        if budget is not None or ledger.spent:
            note = "no limit" if budget is None else f"of {budget:g} allowed"
            note += f", at delta {self._consent.delta:g}"
            yield Fact("epsilon spent", f"{self._policy.epsilon:.3g}", note)
        yield Fact("left in all", data_size(self._bytes), several(self._n, "message"))

    def _last_contact(self) -> float | None:
        from ..channels.nvflare.process import CONTACT

        try:
            return (self._kit.folder / CONTACT).stat().st_mtime
        except OSError:
            return None

    def _rules(self) -> Iterator[str]:
        consent = self._consent
        asks = consent.approval == "ask"
        approved = ", and if its owner has approved them" if asks else ""
        yield f"Studies are answered if they keep to the rules in client.toml{approved}."
        columns = ", ".join(consent.columns)
        used = f"the columns {columns}" if columns else "all columns of its files"
        yield f"They may use {used}. The weakest tier that they may use is {consent.privacy}."

    def _warnings(self, waiting: list[str]) -> Iterator[tuple[str, str]]:
        left = self._consent.max_queries - self._policy.ledger.n_queries
        if left < self._consent.max_queries / 10:
            yield "", f"only {max(0, left):,} queries are left; see fedclust disclosures"
        seen: set[str] = set()
        for line in reversed(self._latest):
            why = str(line.get("refused", ""))
            if why and why not in seen:
                seen.add(why)
                yield str(line["when"]), f"refused {line.get('study', 'a request')}: {why}"

    def _total(self, one: _Sum) -> Total:
        decision = self._approvals.decision(one.hash) if one.hash else ""
        return Total(
            study=one.study or "no study",
            hash=one.hash,
            approval=f"{decision} by its owner" if decision else "by the rules of client.toml",
            to=", ".join(sorted(one.to)),
            replies=one.replies,
            bytes=data_size(one.bytes),
            refusals=one.refusals,
            content=", ".join(sorted(one.kinds)) or _NONE,
            protection=", ".join(sorted(one.protection)) or ("nothing" if one.replies else _NONE),
            first=one.first,
            last=one.last,
        )


def _protection(line: Mapping[str, Any]) -> Iterator[str]:
    names = " ".join(map(str, line.get("transforms", ())))
    return (word for name, word in _KINDS.items() if name in names)


@cache
def _meanings() -> dict[str, str]:
    """What a reply to each kind of plan says, in the words of its class."""
    from ..algorithms.registry import PLANS

    found: dict[str, str] = {}
    for kind in (PLANS[name] for name in PLANS):
        found.setdefault(kind.key, cleandoc(kind.up.__doc__ or "").partition("\n")[0])
    return found


def _message(line: Mapping[str, Any]) -> Message:
    what = line.get("what")
    shapes = what.items() if isinstance(what, dict) else ()
    content = ", ".join(f"{name} {shape}" for name, shape in shapes)
    if line.get("kind") == "preflight":
        content = f"Check of the file: {content}"
    elif meaning := _meanings().get(str(line.get("plan"))):
        content = f"{meaning.removesuffix('.')}: {content}"
    if "wrote" in line:
        content = f"nothing; wrote {line['wrote']} on this machine"
    refused = "refused" in line
    name = f"{line['plan']}, round {line['round'] + 1}" if "plan" in line else line.get("kind", "")
    return Message(
        when=str(line.get("when", "")),
        to=str(line.get("to", "")),
        study=str(line.get("study", "")),
        what=str(name),
        content=f"refused: {line['refused']}" if refused else content,
        protection=", ".join(_protection(line)),
        bytes=data_size(int(line.get("bytes", 0))),
        sha256=str(line.get("sha256", "")),
        refused=refused,
    )
