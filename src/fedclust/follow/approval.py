"""What an owner approves: a study in words, its hash, and the record of decisions.

The hash covers everything that decides what a client answers: all settings of the study and the
version of fedclust. Two participants with the same hash take the same steps.
"""

import getpass
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from .. import __version__
from ..core import Code, ConfigError, Refusal, Summed
from ..core.codec import one_line
from ..core.files import append_line, make_folder, write_text
from ..privacy.crypto import digest
from ..study.layouts import layout_of
from ..study.read import read_study, resolve_tier
from ..study.settings import Study, make_algorithm
from ..tiers import Tier

DEFAULT_TIER = "secure"  # of studies across machines
APPROVALS, PENDING = "approvals.jsonl", "pending"
_LONGEST_STUDY = 200_000  # characters of a study file
MOST_PENDING = 50  # studies that wait for a decision; a server may send any number
_SHOWN = 16  # digits of a hash that people compare


def open_study(folder: Path, name: str, text: str) -> Study:
    """Write the text of a study into a folder, and read it; client files are not looked for."""
    if len(text) > _LONGEST_STUDY:
        raise Refusal(f"the study file has more than {_LONGEST_STUDY} characters", code=Code.STUDY)
    if not name or not all(c.isalnum() or c in "-_. " for c in name) or name.startswith("."):
        raise Refusal("the name of the study has characters that no file name needs")
    make_folder(folder)
    path = folder / f"{name}.toml"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
    try:
        study = read_study(path, files=False)
    except ConfigError as problem:
        words = one_line(str(problem)).replace(str(path), f"{name}.toml")
        raise Refusal(f"the study file cannot be used: {words}", code=Code.STUDY) from None
    return replace(study, clients=dict.fromkeys(study.clients, ""), own_data={})


def study_hash(study: Study, version: str = __version__) -> str:
    """The canonical hash of a study: settings and version, without paths and files."""
    parts: dict[str, Any] = {
        "version": version,
        "name": study.path.stem,
        "clients": sorted(study.clients),
        "features": None if study.features is None else [asdict(c) for c in study.features],
        "clustering": asdict(study.clustering),
        "data": asdict(study.data),
        "sampling": asdict(study.sampling),
        "privacy": {**asdict(study.privacy), "tier": study.privacy.tier or DEFAULT_TIER},
        "outputs": asdict(study.outputs),
    }
    return digest(json.dumps(parts, sort_keys=True, default=str).encode()).hex()


class Following(StrEnum):
    """How far clients can check what a study asks of them."""

    STEPS = "steps"  # they compute every request themselves
    SCRIPT = "script"  # over split columns: everything but assignments
    NONE = "none"  # single clients' messages may not be shown to the others


def following_of(study: Study, tier: Tier) -> Following:
    """How clients follow a study: only sums that hide single clients can be relayed."""
    if not tier.sums_only:
        return Following.NONE
    if study.data.split == "columns":
        return Following.SCRIPT
    return Following.STEPS if _sums(study) else Following.NONE


def _sums(study: Study) -> bool:
    return issubclass(make_algorithm(study.clustering, study.n_clusters[0]).up, Summed)


def describe_study(study: Study) -> Iterator[str]:
    """What the study does, in words, for the owner of a client's data.

    The text of a study is not trusted: nothing of it can move the cursor of a console.
    """
    for line in _describe(study):
        yield "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def _describe(study: Study) -> Iterator[str]:
    tier = resolve_tier(study, DEFAULT_TIER)
    settings = study.clustering
    low, high = study.n_clusters
    k = str(low) if low == high else f"{low} to {high}, chosen from the data"
    yield f"Study {study.path.stem!r}, hash {study_hash(study)[:_SHOWN]}, fedclust {__version__}"
    yield f"Uses the columns: {_columns(study)}"
    yield f"Computes: {settings.algorithm}, {k} clusters, {settings.n_init} start(s)"
    yield f"Privacy: tier {tier.name!r}. {tier.guarantee.words}"
    if tier.query_limit is not None:
        yield f"Queries to your data: at most {tier.query_limit}, earlier studies included"
    yield f"Leaves your computer: {_leaves(study, tier)}"
    yield (
        "Is published: centres, sizes, means and standard deviations of the clusters of all "
        "clients together, the report, and the history of rounds"
    )
    yield "Stays with you: all rows, and the labels of your rows"
    yield from layout_of(study).notices(tier)


def _columns(study: Study) -> str:
    if study.features is None:
        return "all numeric columns that every client has"
    return ", ".join(
        f"{column.name} ({column.low:g} to {column.high:g})"
        if column.low is not None and column.high is not None
        else column.name
        for column in study.features
    )


def _leaves(study: Study, tier: Tier) -> str:
    what = "problems of your files as codes, and in each round integer sums over your rows"
    if tier.masks:
        what += ", masked so that only the sum over all clients can be read"
    if tier.noisy:
        what += ", with noise that hides single rows"
    return what


class Approvals:
    """The decisions of an owner about studies, in the client's folder."""

    def __init__(self, folder: Path) -> None:
        self._file, self._pending = folder / APPROVALS, folder / PENDING

    def decision(self, hash: str) -> str:
        """The last decision about a study: "approved", "refused", or empty."""
        found = ""
        if self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue  # an incomplete last line
                if entry.get("hash") == hash:
                    found = str(entry.get("decision", ""))
        return found

    def decide(self, study: Study, *, approved: bool) -> None:
        """Record a decision, and forget that it was pending."""
        hash = study_hash(study)
        entry = {
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "by": getpass.getuser(),
            "study": study.path.stem,
            "hash": hash,
            "decision": "approved" if approved else "refused",
        }
        append_line(self._file, json.dumps(entry))
        (self._pending / hash / f"{study.path.stem}.toml").unlink(missing_ok=True)

    def wait_for(self, study: Study, text: str) -> None:
        """Note a study that waits for a decision."""
        folder = self._pending / study_hash(study)
        if not folder.exists() and len(list(self._pending.glob("*/*.toml"))) >= MOST_PENDING:
            return  # it is asked for again, once the owner has decided about some
        make_folder(folder)
        write_text(folder / f"{study.path.stem}.toml", text)

    def pending(self) -> list[Study]:
        """Studies that wait for a decision, oldest first."""
        files = sorted(self._pending.glob("*/*.toml"), key=lambda file: file.stat().st_mtime)
        return [open_study(f.parent, f.stem, f.read_text(encoding="utf-8")) for f in files]

    def require(self, study: Study, text: str) -> None:
        """Refuse a study that its owner has refused, or has not decided about."""
        decision = self.decision(study_hash(study))
        if decision == "approved":
            return
        if decision == "refused":
            raise Refusal("its owner has refused this study", code=Code.CONSENT)
        self.wait_for(study, text)
        raise Refusal("it waits for its owner to approve this study", code=Code.APPROVAL)
