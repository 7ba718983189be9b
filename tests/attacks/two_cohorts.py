"""Totals over two cohorts: their difference is the total of the clients in one of them only.

A server that does not follow the protocol asks the same of several cohorts, and reads a client's
own sums from the totals. ``python -m tests.attacks.two_cohorts`` prints what it recovers.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from fedclust.algorithms import make
from fedclust.algorithms.centers import Centers
from fedclust.core import Data, Plan, Refusal, Request, Schema, respond
from fedclust.privacy import ClientPolicy, FixedPoint, Ledger, PairwiseMasks, keyring, ledger
from fedclust.typing import FloatArray

from . import halfspaces
from .hostile import table_of
from .server import exact

DATA = ("iris", "diabetes", "digits", "wine", "blobs")
VICTIM, SIZES = "d", {"a": 14, "b": 15, "c": 16, "d": 40, "e": 14, "f": 15, "g": 16}
Total = tuple[float, FloatArray]  # number and sum of the rows on one side of a plane


def clients(name: str) -> dict[str, FloatArray]:
    """Rows of a data set, of which the victim has the most."""
    X = table_of(name, sum(SIZES.values()))
    parts = np.split(X, np.cumsum(list(SIZES.values()))[:-1])
    return dict(zip(SIZES, parts, strict=True))


class Server:
    """It asks any cohort it likes; clients answer as long as their own rules allow."""

    def __init__(self, rows: dict[str, FloatArray], folder: Path | None = None) -> None:
        F = rows[VICTIM].shape[1]
        self._grid = FixedPoint.over(Schema(F, low=np.zeros(F), high=np.ones(F)))
        self._rows, self._folder = rows, folder
        self._masks: dict[str, PairwiseMasks] = {}
        self._data: dict[str, Data] = {}
        self._round = -1
        self.refused: list[str] = []
        self.restart()

    def restart(self) -> None:
        """Every client starts again: with its ledger, if that is in a file, and with new keys."""
        for client, X in self._rows.items():
            path = None if self._folder is None else self._folder / f"{client}.jsonl"
            policy = ClientPolicy(ledger=Ledger(path))
            self._data[client] = replace(Data.of(X), policy=policy)
        self._masks.clear()

    def _masks_of(self, run: str) -> PairwiseMasks:
        if run not in self._masks:
            roster = []
            for client, data in self._data.items():
                keys = data.policy.keys
                key, signed = keys.offer(run)
                roster.append((client, key.hex(), keys.identity.hex(), signed.hex()))
            self._masks[run] = PairwiseMasks(run, tuple(roster))
        return self._masks[run]

    def total(
        self, cohort: str, centers: FloatArray, run: str = "run", *, again: bool = False
    ) -> Total:
        """The total over a cohort on the first side, in the next round or in the last one."""
        self._round += not again
        algorithm: Any = make("llf-cm", len(centers))
        plan = Plan(algorithm, (self._grid, self._masks_of(run)))
        request = Request(self._round, tuple(cohort), Centers(centers))
        replies = [respond(plan, request, c, self._data[c]) for c in cohort]
        merged: Any = algorithm.up.merge(replies).off_grid(self._grid.grid)
        return float(merged.weight[0]), merged.total[0]

    def ask(self, attack: "Attack", centers: FloatArray) -> Total | None:
        """The victim's own sums, if all cohorts answer."""
        try:
            return attack(self, centers)
        except Refusal as refusal:
            self.refused.append(str(refusal))
            return None


Attack = Callable[[Server, FloatArray], Total]


def _difference(more: Total, less: Total) -> Total:
    return more[0] - less[0], more[1] - less[1]


def one_leaves(server: Server, centers: FloatArray) -> Total:
    return _difference(server.total("abcd", centers), server.total("abc", centers))


def one_joins(server: Server, centers: FloatArray) -> Total:
    less = server.total("abc", centers)
    return _difference(server.total("abcd", centers), less)


def last_bit(server: Server, centers: FloatArray) -> Total:
    """Centres that differ in the last bit are another broadcast, with the same sums."""
    whole = server.total("abcd", centers)
    return _difference(whole, server.total("abc", np.nextafter(centers, 9.0)))


def new_run(server: Server, centers: FloatArray) -> Total:
    whole = server.total("abcd", centers, "first run")
    return _difference(whole, server.total("abc", centers, "second run"))


def after_restart(server: Server, centers: FloatArray) -> Total:
    whole = server.total("abcd", centers)
    server.restart()
    return _difference(whole, server.total("abc", centers))


def pretended_silence(server: Server, centers: FloatArray) -> Total:
    """The server holds the answer of the client that it calls silent, and repeats the round."""
    whole = server.total("abcd", centers)
    return _difference(whole, server.total("abc", centers, again=True))


def four_threes(server: Server, centers: FloatArray) -> Total:
    """Each client is in three of the four cohorts."""
    found = [server.total(cohort, centers) for cohort in ("abc", "abd", "acd", "bcd")]
    count, total = sum(n for n, _ in found), np.sum([sums for _, sums in found], axis=0)
    return _difference((count / 3, total / 3), found[0])


def two_parts(server: Server, centers: FloatArray) -> Total:
    """Two cohorts without a client in common do not know of each other."""
    parts = [server.total(cohort, centers) for cohort in ("abc", "efg")]
    whole = server.total("abcdefg", centers)
    return _difference(_difference(whole, parts[0]), parts[1])


ATTACKS: dict[str, Attack] = {
    "one client leaves": one_leaves,
    "one client joins": one_joins,
    "the last bit of the centres is another": last_bit,
    "a new run": new_run,
    "clients restart": after_restart,
    "the server calls a client silent": pretended_silence,
    "four cohorts of three": four_threes,
    "two cohorts and their union": two_parts,
}


def recovered(name: str, attack: Attack, questions: int = 60) -> tuple[int, list[str]]:
    """The victim's records that a server gets, and what clients said to it."""
    rows = clients(name)
    F = rows[VICTIM].shape[1]
    with TemporaryDirectory() as folder:
        server = Server(rows, Path(folder) if attack is after_restart else None)
        found = halfspaces.recovered(lambda c: server.ask(attack, c), F, questions)
    return exact(found, rows[VICTIM]), server.refused


def without_rule() -> ExitStack:
    """Clients that compare a cohort with no other."""
    stack = ExitStack()
    for module in (ledger, keyring):
        stack.enter_context(patch.object(module, "find_conflict", lambda *rule: ""))
    return stack


def lines() -> Iterator[str]:
    """The table, as Markdown."""
    yield "| attack | " + " | ".join(DATA) + " |"
    yield "|---|" + "---|" * len(DATA)
    for title, attack in ATTACKS.items():
        cells = []
        for name in DATA:
            with without_rule():
                before = recovered(name, attack)[0]
            cells.append(f"{before}, {recovered(name, attack)[0]}")
        yield f"| {title} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)  # noqa: T201
