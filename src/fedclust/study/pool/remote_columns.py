"""Owners of columns behind a network: counts, keyed hashes and distances come, no name does."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...channels import RemoteChannel
from ...channels.remote import Rows
from ...client.column_session import digest_of
from ...client.files import Problem
from ...client.requests import ALIGN, FINISH, OFFER, OWNED, SHARED
from ...client.vertical import Ending, Wanted
from ...core import Channel, Message, Plan, Request, Schema, TooFewClients
from ...core.envelope import encode_plan, one_line
from ...typing import Array
from ..preflight import ALL
from ..read import resolve_tier
from ..settings import Study
from .local_columns import Offered


class RemoteOwners:
    """Owners that answer over a channel; a study needs every one of them."""

    tier = "secure"

    def __init__(self, remote: RemoteChannel, named: Sequence[str] = ()) -> None:
        self._remote, self._named = remote, frozenset(named)  # named: those the study lists
        self._owners: tuple[str, ...] = ()
        self._data: dict[str, Any] = {}
        self._labels = True

    def look(self, study: Study, wanted: Wanted) -> Offered:
        """Ask everybody for counts and problems; without one of them there is no study."""
        self._data = {OWNED: wanted.as_config()}
        self._labels = study.outputs.labels != "none"
        told = self._remote.tell(OFFER, self._data)
        found = {owner: _offer(owner, words) for owner, words in sorted(told.items())}
        offers = {owner: offer for owner, offer in found.items() if offer is not None}
        least = study.sampling.min_clients
        absent = ", ".join(sorted(self._named - set(offers)))
        if absent or len(offers) < least:
            who = f"; every owner is needed, and {absent} cannot" if absent else ""
            raise TooFewClients(
                f"{len(offers)} owners can take part, and {least} are needed{who}"
                f"{self._remote.why()}"
            )
        self._owners = tuple(offers)
        widths = {owner: offer.width for owner, offer in offers.items()}
        problems = [problem for offer in offers.values() for problem in offer.problems]
        problems += _of_all(wanted, sum(widths.values()))
        offered = {owner: offer.offered for owner, offer in offers.items()}
        return Offered((), dict.fromkeys(offered), tuple(problems), widths, offered)

    def offered(self) -> Channel:
        """A way to the keyed hashes of the owners' ids."""
        return _AllOf(self._remote.over(dict(self._data), Schema(2)), self._owners)

    def align(self, shared: Array) -> dict[str, str]:
        """Tell every owner the shared records."""
        told = self._remote.tell(ALIGN, self._data, {SHARED: shared})
        prints = {o: one_line(str(_get(told.get(o), "fingerprint"))) for o in self._owners}
        self._need(told, "found its rows of the shared records")
        self._data[SHARED] = digest_of(shared)
        return prints

    def aligned(self, schema: Schema) -> Channel:
        """A way to the rows of the shared records."""
        return _AllOf(self._remote.over(dict(self._data), schema), self._owners)

    def finish(self, end: Ending) -> dict[str, Path | str]:
        """Give every owner the last assignment: each writes labels and its part of the centres."""
        header, arrays = encode_plan(Plan(replace(end.algorithm, init=None)))
        arrays |= {f"down.{name}": array for name, array in end.last.arrays().items()}
        words = {**header, "round": 0, "cohort": [], "data": self._data, "labels": self._labels}
        told = self._remote.tell(FINISH, words, arrays)
        self._need(told, "wrote its labels")
        return dict.fromkeys(self._owners, "written there")

    def _need(self, told: Mapping[str, Any], what: str) -> None:
        silent = [owner for owner in self._owners if not isinstance(told.get(owner), dict)]
        if silent:
            raise TooFewClients(
                f"every owner is needed, and not every one {what}: {', '.join(silent)} did not"
                f"{self._remote.why()}"
            )


@dataclass(frozen=True, eq=False)
class _AllOf:
    """A channel to these owners, whoever else is connected; none of them may rest."""

    rows: Rows
    owners: tuple[str, ...]

    def clients(self) -> tuple[str, ...]:
        return self.owners

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        return self.rows.ask(plan, request)

    @property
    def quorum(self) -> int:
        return len(self.owners)

    def why(self) -> str:
        return self.rows.remote.why()


@dataclass(frozen=True)
class _Offer:
    """What an owner says of its data."""

    offered: int  # rows
    width: int  # columns
    problems: tuple[Problem, ...]


def _offer(owner: str, told: Any) -> _Offer | None:
    """The same from its answer; None if that is none."""
    try:
        problems = tuple(
            Problem(owner, "", one_line(what), bool(stops)) for what, stops in told["problems"]
        )
        found = _Offer(told["offered"], told["columns"], problems)
    except (TypeError, KeyError, ValueError):
        return None
    if any(type(n) is not int or n < 0 for n in (found.offered, found.width)):
        return None
    return found


def _get(told: Any, name: str) -> Any:
    return told.get(name) if isinstance(told, dict) else None


def _of_all(wanted: Wanted, width: int) -> list[Problem]:
    """Names are not told, but numbers must fit: every listed feature has one owner."""
    listed = sum(len(c.encoded_names) for c in wanted.columns or ())
    if wanted.columns is None or width == listed:
        return []
    what = "nobody has some of them" if width < listed else "two owners have the same"
    words = f"the study lists {listed} columns, owners have {width} of these names: {what}"
    return [Problem(ALL, "", words)]


def who_is_missing(study: Study, there: Collection[str]) -> str:
    """The owners that a study lists and that are not there, as a sentence's end."""
    absent = sorted(set(study.clients) - set(there)) if study.data.split == "columns" else []
    return f"; every owner is needed, and {', '.join(absent)} did not come" if absent else ""


def invited(study: Study, there: Sequence[str]) -> list[str]:
    """Who gets the job: the owners that the study lists, if it does; else everybody."""
    if study.data.split == "columns" and study.clients:
        return [client for client in there if client in study.clients]
    return list(there)


def warnings_of(study: Study) -> list[str]:
    """What everybody who takes part has to know, before anybody is asked."""
    if study.data.split != "columns":
        return []
    guarantee = resolve_tier(study, RemoteOwners.tier).guarantee
    return [f"Privacy, {guarantee.tier}: {guarantee.words}"]
