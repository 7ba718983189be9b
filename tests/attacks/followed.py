"""Plans that a server crafts, asked of clients that follow a study and of clients that do not.

Each attack takes records out of clients that answer plans, once the rules that were made against
it are removed. Clients that follow a study are asked the same: as the next step of a run, in
another run, after a restart, and outside of any study. ``python -m tests.attacks.followed`` prints
a table of all attacks and data sets.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from fedclust.algorithms import make
from fedclust.algorithms.centers import Centers
from fedclust.client.endpoint import ClientEndpoint
from fedclust.client.requests import PreparedRows
from fedclust.clustering.preparation import Column, scale_by_bounds
from fedclust.core import AnyAlgorithm, FedclustError, Plan, Record, Request, Transform
from fedclust.core.codec import decode_message, encode_request
from fedclust.core.wire import Frame, pack, unpack
from fedclust.metrics import Evaluation
from fedclust.privacy import FixedPoint, MinSamples, PairwiseMasks, QueryLimit
from fedclust.privacy.key_exchange import KeyExchange
from fedclust.typing import FloatArray

from ..support.following import Federation, Sites
from . import halfspaces
from .hostile import outermost_records, table_of
from .server import exact

DATA = {"digits": 450, "diabetes": 442, "iris": 150, "wine": 178, "cancer": 400}  # rows
VICTIM, SHARES = "c04", (0.16, 0.18, 0.2, 0.22, 0.24)  # the victim has the most rows
CONSENT = 'privacy = "secure"\nmax_queries = 1000000\nmax_rounds = 1000000'
NOISY = ("dp", "secure+dp")
TIERS = ("secure", *NOISY)
AUTHOR, QUESTIONS = "coordinator", 60
DIRECTIONS, RUNS = 3, 5  # of crafted inertias; that a server opens until it gives up
WITHIN = (1e-6, 1e-3)  # of the range of a column

Sums = tuple[float, FloatArray]  # number and sum of the rows on one side of a plane


class Found(NamedTuple):
    """Records that an attack has recovered: exactly, and nearly."""

    exact: int
    near: int


class Outcome(NamedTuple):
    """One line of the table."""

    attack: str
    data: str
    unprotected: Found
    followed: tuple[Found, ...]  # by tier


def deal(name: str) -> dict[str, FloatArray]:
    """Rows to five clients of different sizes."""
    X = table_of(name, DATA[name])
    ends = np.round(np.cumsum(SHARES)[:-1] * len(X)).astype(int)
    return {f"c{i:02d}": part for i, part in enumerate(np.split(X, ends))}


class Clients:
    """Clients behind the bytes of a network, and a server that asks them plans of its choice."""

    def __init__(self, folder: Path, rows: Mapping[str, FloatArray], tier: str = "secure") -> None:
        consent = CONSENT.replace("secure", tier) + ("\nepsilon = 100" if tier in NOISY else "")
        start = 'init = "uniform"'
        self.there = Federation(folder, rows, tier=tier, consent=consent, clustering=start)
        self.rows = rows
        self.F = int(next(iter(rows.values())).shape[1])
        columns = tuple(Column(f"x{f}", low=0, high=1) for f in range(self.F))
        self.form = PreparedRows(scale_by_bounds(columns))
        self._round = 0

    @property
    def grid(self) -> FixedPoint:
        return FixedPoint.over(self.form.schema)

    def total(
        self, algorithm: AnyAlgorithm, down: Record, cohort: tuple[str, ...], *more: Transform
    ) -> Any | None:
        """The total of a cohort in a masked round; None if any client refuses."""
        masks = self.exchange_keys()
        if masks is None:
            return None
        with patch.object(PairwiseMasks, "check_others", lambda *rule: None):  # at the server
            plan = Plan(algorithm, (*more, QueryLimit(50_000), self.grid, masks))
        replies = self._collect(plan, down, cohort)
        if replies is None:
            return None
        merged: Any = algorithm.up.merge(replies)
        return merged.off_grid(self.grid.grid)

    def alone(self, algorithm: AnyAlgorithm, down: Record) -> Any | None:
        """The victim's own reply, without masks; None if it refuses."""
        if self.exchange_keys() is None:
            return None
        replies = self._collect(Plan(algorithm), down, (VICTIM,))
        return None if replies is None else replies[0]

    def _collect(self, plan: Plan, down: Record, cohort: tuple[str, ...]) -> list[Any] | None:
        self._round += 1
        raw = self._encode(plan, Request(self._round, cohort, down))
        sizes, replies = plan.algorithm.sizes(self.form.schema), []
        for client in cohort:
            answer = self.ask(client, unpack(raw))
            if answer.header["kind"] != "reply":
                return None
            replies.append(decode_message(answer, plan.algorithm.up, sizes))
        return replies

    id = "attack/1"

    def _encode(self, plan: Plan, request: Request) -> bytes:
        form = self.form.as_config()
        return encode_request(plan, request, id=self.id, about={"study": "s"}, data=form)

    def exchange_keys(self) -> PairwiseMasks | None:
        raise NotImplementedError

    def ask(self, client: str, crafted: Frame) -> Frame:
        raise NotImplementedError


class Unprotected(Clients):
    """Clients that answer plans, and know none of the rules that were made against these."""

    def __init__(self, folder: Path, rows: Mapping[str, FloatArray]) -> None:
        super().__init__(folder, rows)
        self._sites = {name: ClientEndpoint(folder / name, name) for name in rows}
        self._masks: PairwiseMasks | None = None

    def exchange_keys(self) -> PairwiseMasks | None:
        if self._masks is None:
            algorithm = KeyExchange("attack")
            plan, cohort = Plan(algorithm), tuple(sorted(self.rows))
            request = Request(0, cohort, algorithm.broadcast(None))  # type: ignore[arg-type]
            raw = self._encode(plan, request)
            offers = [self.ask(client, unpack(raw)) for client in cohort]
            found = (
                [client, *(offer.arrays[n][0].tobytes().hex() for n in _OFFER)]
                for client, offer in zip(cohort, offers, strict=True)
            )
            self._masks = PairwiseMasks("attack", tuple(tuple(entry) for entry in found))
        return self._masks

    def ask(self, client: str, crafted: Frame) -> Frame:
        return unpack(self._sites[client].answer(pack(*crafted), AUTHOR))


_OFFER = ("public", "signer", "signature")


class Followed(Clients):
    """Clients that follow the study of the federation."""

    def __init__(self, folder: Path, rows: Mapping[str, FloatArray], tier: str = "secure") -> None:
        super().__init__(folder, rows, tier)
        self._runs = iter([*range(RUNS), *repeat(RUNS, 1_000)])
        self._honest: Frame | None = None
        self._fresh: set[str] = set()
        self.refused = 0

    def exchange_keys(self) -> PairwiseMasks | None:
        """Open a run, take its first steps honestly, and keep its first request that reads rows."""
        server, number = _Stopping(self.there), next(self._runs)
        if number == RUNS:
            return None
        self.id = f"{number:016x}"
        with suppress(_Stopped, FedclustError):
            self.there.run(self.there.folder / f"out{self.id}", server, run=self.id)
        self._honest, self._fresh = server.honest, set(self.rows)
        if self._honest is None:
            return None
        found = dict(self._honest.header["transforms"]).get("PairwiseMasks")
        return PairwiseMasks(**found) if found else NO_MASKS

    def ask(self, client: str, crafted: Frame) -> Frame:
        """The crafted request: as the next step, after a restart, and outside of the study."""
        assert self._honest is not None
        header, arrays = self._honest
        id = header["id"]
        before = {n: a for n, a in arrays.items() if n.startswith("before")}
        as_step = {**crafted.header, "id": id, "step": header["step"], "before": header["before"]}
        outside = Frame({**crafted.header, "id": id}, crafted.arrays)
        step = Frame(as_step, {**crafted.arrays, **before})
        for request in (outside, step, step):
            answer = unpack(self.there.sites[client].answer(pack(*request), AUTHOR))
            if answer.header["kind"] == "reply":
                return answer
            self.refused += 1
            self.there.sites[client] = self.there.open_site(client)
        return answer


NO_MASKS = PairwiseMasks("", ())  # of a study without masks
_FIRST = {"PairwiseMasks", "IntegerGaussian"}  # in the first request that reads rows


class _Stopped(Exception):
    """The first request that reads rows is known."""


class _Stopping(Sites):
    honest: Frame | None = None

    def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
        frame = unpack(request)
        if any(name in _FIRST for name, _ in frame.header.get("transforms", ())):
            self.honest = frame
            raise _Stopped
        yield from super().exchange(clients, request, seconds)


# The attacks


def silence_all_but_one(clients: Clients, questions: int) -> FloatArray:
    """Clients below a threshold send zeros under their masks; the total is the victim's."""
    least = len(clients.rows[VICTIM])

    def ask(centers: FloatArray) -> Sums | None:
        algorithm = make("llf-cm", len(centers))
        cohort, down = tuple(sorted(clients.rows)), Centers(centers)
        found = clients.total(algorithm, down, cohort, MinSamples(least))
        return None if found is None else (float(found.weight[0]), found.total[0])

    return halfspaces.recovered(ask, clients.F, questions)


def compare_two_cohorts(clients: Clients, questions: int) -> FloatArray:
    """Totals with the victim less totals without it."""
    everybody = tuple(sorted(clients.rows))
    others = tuple(name for name in everybody if name != VICTIM)

    def ask(centers: FloatArray) -> Sums | None:
        algorithm, down = make("llf-cm", len(centers)), Centers(centers)
        whole = clients.total(algorithm, down, everybody)
        less = clients.total(algorithm, down, others)
        if whole is None or less is None:
            return None
        return float(whole.weight[0] - less.weight[0]), whole.total[0] - less.total[0]

    return halfspaces.recovered(ask, clients.F, questions)


@dataclass(frozen=True, eq=False)
class Inertia:
    """The inertia of crafted centres, over the rows of the victim."""

    clients: Clients

    @property
    def F(self) -> int:
        """Columns."""
        return self.clients.F

    def inertia(self, centers: FloatArray) -> float | None:
        found = self.clients.alone(Evaluation(len(centers), centers), Centers(centers))
        return None if found is None else float(found.sums.sum())


def craft_inertia(clients: Clients, questions: int) -> FloatArray:
    """Kinks of the inertia along a direction are projections of records."""
    return outermost_records(Inertia(clients), 0, DIRECTIONS)  # type: ignore[arg-type]


ATTACKS: dict[str, Callable[[Clients, int], FloatArray]] = {
    "all clients but one are silenced under the masks": silence_all_but_one,
    "two cohorts that differ by one client": compare_two_cohorts,
    "inertia of crafted centres": craft_inertia,
}


def without_rules() -> ExitStack:
    """Clients as they were before these attacks were known."""
    stack = ExitStack()
    for module in ("ledger", "keyring"):
        stack.enter_context(patch(f"fedclust.privacy.{module}.find_conflict", lambda *rule: ""))
    stack.enter_context(patch.object(PairwiseMasks, "check_others", lambda *rule: None))
    for rule in ("allow_bounds", "allow_plan"):
        stack.enter_context(patch(f"fedclust.client.admission.{rule}", lambda *given: None))
    return stack


def count(found: FloatArray, rows: Mapping[str, FloatArray]) -> Found:
    """How many records of all clients are among the vectors found."""
    X = np.vstack(list(rows.values()))
    return Found(*(exact(found, X, within) for within in WITHIN))


def attack_unprotected(attack: str, name: str, questions: int = QUESTIONS) -> Found:
    """Records that the attack gets from clients that answer plans."""
    rows = deal(name)
    with TemporaryDirectory() as folder, without_rules():
        return count(ATTACKS[attack](Unprotected(Path(folder), rows), questions), rows)


def attack_followed(
    attack: str, name: str, questions: int = QUESTIONS, tier: str = "secure"
) -> Found:
    """Records that it gets from clients that follow a study."""
    rows = deal(name)
    with TemporaryDirectory() as folder:
        clients = Followed(Path(folder), rows, tier)
        found = ATTACKS[attack](clients, questions)
        if not clients.refused:
            raise AssertionError("nothing was asked")
    return count(found, rows)


def rows(names: tuple[str, ...] = tuple(DATA), questions: int = QUESTIONS) -> Iterator[Outcome]:
    """Attack by attack and data set by data set."""
    return (
        Outcome(
            attack,
            name,
            attack_unprotected(attack, name, questions),
            tuple(attack_followed(attack, name, questions, tier) for tier in TIERS),
        )
        for attack in ATTACKS
        for name in names
    )


def lines(names: tuple[str, ...] = tuple(DATA)) -> Iterator[str]:
    """The table, as Markdown."""
    followed = " | ".join(f"followed `{tier}`" for tier in TIERS)
    yield f"| attack | data | rows | not followed | {followed} |"
    yield "|---|---|---|---|" + "---|" * len(TIERS)
    for line in rows(names):
        cells = [f"{found.exact} ({found.near})" for found in (line.unprotected, *line.followed)]
        yield f"| {line.attack} | {line.data} | {DATA[line.data]} | {' | '.join(cells)} |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)  # noqa: T201
