"""A server that pretends silence, repeats runs and starts several, to get totals of few clients."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms.bounded import STEPS
from fedclust.core import FedclustError
from fedclust.core.wire import Frame, pack, unpack
from fedclust.privacy import keyring, ledger, secure_channel

from ..support.following import Federation, Sites, tables
from .scenes import AUTHOR, is_refused

pytest.importorskip("cryptography")

FEWEST = 3


def smallest_total(cohorts: Iterable[Sequence[str]]) -> int:
    """The fewest clients of any total that can be computed from totals over these cohorts.

    A linear combination of totals weighs clients alike that are in the same cohorts. It is enough
    that every such group is large.
    """
    found = {frozenset(cohort) for cohort in cohorts}
    names = sorted(set().union(*found))
    patterns = Counter(tuple(name in cohort for cohort in found) for name in names)
    return min(patterns.values())


class Pretending(Sites):
    """A server that asks all clients, keeps what they answer, and says that some are silent."""

    def __init__(self, there: Federation, rng: np.random.Generator, restarts: bool = False) -> None:
        super().__init__(there)
        self._rng, self._restarts = rng, restarts
        self.answered: dict[tuple[str, bytes, tuple[str, ...]], set[str]] = {}
        self._silent: set[str] = set()

    def clients(self) -> list[str]:
        """Some are not connected when a run begins."""
        names = list(self.federation.sites)
        return [name for name in names if name not in self._silent]

    def leave(self, clients: Iterable[str]) -> None:
        self._silent |= set(clients)

    def exchange(self, clients: Sequence[str], request: bytes, seconds: float) -> Any:
        header, arrays = unpack(request)
        masked = any(name == "PairwiseMasks" for name, _ in header.get("transforms", ()))
        if masked and self._rng.random() < 0.5:
            n = int(self._rng.integers(1, 5))
            self.leave(self._rng.choice(clients, min(n, len(clients)), replace=False).tolist())
        for client in clients:
            if self._restarts:
                self.federation.sites[client] = self.federation.open_site(client)
            answer = self.federation.sites[client].answer(request, AUTHOR)
            if masked and unpack(answer).header["kind"] == "reply":
                key = header["id"], pack({}, arrays), tuple(header["cohort"])
                self.answered.setdefault(key, set()).add(client)
            yield client, "is not connected" if client in self._silent else answer

    @property
    def totals(self) -> set[tuple[str, ...]]:
        """Cohorts over which the server can add up all masked replies to one request."""
        return {cohort for (*_, cohort), who in self.answered.items() if who == set(cohort)}


def attempt(there: Federation, folder: Path, server: Pretending, run: str) -> None:
    with suppress(FedclustError):  # the clients do not go on
        there.run(folder, server, run=run, deadline=0.0)


def harvest(folder: Path, n_clients: int, seed: int, *, restarts: bool) -> set[tuple[str, ...]]:
    """Cohorts of all totals that a server gets, over several runs."""
    quick = 'max_rounds = 2\ntol = 0.0\ninit = "uniform"'
    there = Federation(folder / "kits", tables(n_clients, n=12), k=2, clustering=quick)
    rng, totals = np.random.default_rng(seed), set()
    for number in range(4):
        server = Pretending(there, rng, restarts)
        if number:
            names = sorted(there.rows)
            server.leave(rng.choice(names, int(rng.integers(0, 5)), replace=False).tolist())
        attempt(there, folder / f"out{number}", server, f"{number:016x}")
        totals |= server.totals
    return totals


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedclust.follow.relay._PAUSE", 0.0)


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("n_clients", "seed"), [(5, 0), (9, 1), (13, 2)])
def test_no_two_totals_differ_by_fewer_clients_than_a_cohort_needs(
    n_clients: int, seed: int, restarts: bool, tmp_path: Path
) -> None:
    totals = harvest(tmp_path, n_clients, seed, restarts=restarts)
    assert totals, "the server gets something"
    assert smallest_total(totals) >= FEWEST


def test_without_the_rule_single_clients_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remain(silent: Any, cohorts: Any, least: int, salt: bytes) -> tuple[str, ...]:
        left = tuple(sorted(set(cohorts[-1]) - set(silent)))
        return left if len(left) >= least else ()

    monkeypatch.setattr(secure_channel, "remain_without", remain)
    for module in (ledger, keyring):
        monkeypatch.setattr(module, "find_conflict", lambda *args: "")
    assert smallest_total(harvest(tmp_path, 9, 1, restarts=False)) == 1


def test_smallest_total() -> None:
    assert smallest_total(["abcdef"]) == 6
    assert smallest_total(["abcdef", "abc"]) == 3
    assert smallest_total(["abcdef", "abcde"]) == 1
    assert smallest_total(["abcdefgh", "abcde", "fghijk"]) == 3
    assert smallest_total(["abcd", "bcde"]) == 1


# Several runs at the same time


def first_masked(there: Federation, folder: Path, run: str, members: Sequence[str]) -> bytes:
    """The first masked request of a run; the clients have answered everything before."""
    found: list[bytes] = []

    class Stopping(Sites):
        def clients(self) -> list[str]:
            return list(members)

        def exchange(self, clients: Sequence[str], request: bytes, seconds: float) -> Any:
            header = unpack(request).header
            if any(name == "PairwiseMasks" for name, _ in header.get("transforms", ())):
                found.append(request)
                raise InterruptedError
            yield from super().exchange(clients, request, seconds)

    with pytest.raises(InterruptedError):
        there.run(folder, Stopping(there), run=run)
    return found[0]


def test_two_runs_in_parallel_with_other_clients(tmp_path: Path) -> None:
    """The first total of a data set decides; a run over one client less gets none."""
    there = Federation(tmp_path / "kits", tables(6, n=12))
    names = sorted(there.rows)
    all_of = first_masked(there, tmp_path / "one", "a" * 16, names)
    fewer = first_masked(there, tmp_path / "two", "b" * 16, names[:5])
    answers = [unpack(there.sites[c].answer(all_of, AUTHOR)) for c in names]
    assert {a.header["kind"] for a in answers} == {"reply"}
    for client in names[:5]:
        answer = unpack(there.sites[client].answer(fewer, AUTHOR))
        assert is_refused(answer, "cohort")
        assert "whose own sums would be the difference" in answer.header["why"]
    again = [unpack(there.sites[c].answer(all_of, AUTHOR)) for c in names]
    assert [pack(*a) for a in again] == [pack(*a) for a in answers], "the run can go on"


def test_half_of_the_clients_told_of_another_run(tmp_path: Path) -> None:
    """Three clients are asked in one cohort, three in another: masks do not cancel."""
    there = Federation(tmp_path / "kits", tables(6, n=12))
    names = sorted(there.rows)
    one = first_masked(there, tmp_path / "one", "a" * 16, names)
    two = first_masked(there, tmp_path / "two", "b" * 16, names)
    asked = {client: one if client in names[:3] else two for client in names}
    mixed = [unpack(there.sites[c].answer(request, AUTHOR)) for c, request in asked.items()]
    assert {r.header["kind"] for r in mixed} == {"reply"}
    whole = [unpack(there.sites[c].answer(one, AUTHOR)) for c in names]
    rows = 6 * 12 * STEPS  # the first request counts rows
    assert total_of(whole) == rows, "masks cancel in the whole cohort"
    assert total_of(mixed) != rows
    for n in range(1, 6):  # each is one of 2**64 numbers
        assert total_of(whole[:n]) != n * 12 * STEPS, "no part of the cohort can be read"


def total_of(replies: Sequence[Frame]) -> int:
    return int(sum(r.arrays["values"].astype(object).sum() for r in replies) % 2**64)


def test_clients_are_asked_in_the_same_run_with_other_rosters(tmp_path: Path) -> None:
    """Two clients see different key exchanges; neither total can be read, and both notice."""
    there = Federation(tmp_path / "kits", tables(6, n=12))
    names = sorted(there.rows)
    request = unpack(first_masked(there, tmp_path / "one", "a" * 16, names))
    before = request.header["before"]
    fewer = {
        **before,
        "clients": before["clients"][:5],
        "values": before["values"][:5],
    }
    arrays = {
        **request.arrays,
        "before.words": request.arrays["before.words"][:5],
        "before.seals": request.arrays["before.seals"][:5],
    }
    crafted = Frame({**request.header, "before": fewer}, arrays)
    answer = unpack(there.sites["c00"].answer(pack(*crafted), AUTHOR))
    assert is_refused(answer, "study"), "its own roster has five clients, and the request six"
    other = unpack(there.sites["c01"].answer(pack(*request), AUTHOR))
    assert other.header["kind"] == "reply"
