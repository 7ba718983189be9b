"""Kills, restarts and lost messages in a followed study: the same bits, or a sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.core import TooFewClients
from fedclust.core.wire import unpack
from fedclust.privacy.cohorts import find_conflict
from fedclust.study.run import run_study

from ..support.following import Federation, Sites, tables
from ..support.in_process import told

pytest.importorskip("cryptography")


def step_of(request: bytes) -> int | None:
    return unpack(request).header.get("step")


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_lost_messages_change_nothing(lost: str, tmp_path: Path) -> None:
    there = Federation(tmp_path, tables(4))
    rng, seen = np.random.default_rng(1), set()

    class Lossy(Sites):
        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            for client in clients:
                key = client, step_of(request)
                fails = key not in seen and rng.random() < 0.3
                seen.add(key)
                if fails and lost == "request":
                    yield client, "lost on the way"
                    continue
                answer = there.sites[client].answer(request, "coordinator")
                yield client, "lost on the way" if fails else answer

    run_study(there.study, tmp_path / "here")
    there.run(tmp_path / "there", Lossy(there), deadline=5.0)
    assert told(tmp_path / "there") == told(tmp_path / "here")


@pytest.mark.parametrize("tier", ["secure", "secure+dp", "dp"])
def test_clients_that_restart_at_every_step_change_nothing(tier: str, tmp_path: Path) -> None:
    """A client is killed after it has answered; its next process continues from its files."""
    privacy = "" if tier == "secure" else "epsilon = 4.0"
    consent = 'privacy = "secure"' if tier == "secure" else 'privacy = "dp"\nepsilon = 8.0'
    consent = consent if tier != "secure+dp" else 'privacy = "secure+dp"\nepsilon = 8.0'
    there = Federation(tmp_path, tables(4), tier=tier, privacy=privacy, consent=consent)
    calls: dict[tuple[str, int | None], bytes] = {}

    class Restarting(Sites):
        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            for client in clients:
                first = there.sites[client].answer(request, "coordinator")
                there.sites[client] = there.open_site(client)
                again = there.sites[client].answer(request, "coordinator")
                if step_of(request) is not None:
                    assert again == first, "the same request has the same answer in every process"
                calls[client, step_of(request)] = first
                yield client, again

    there.run(tmp_path / "there", Restarting(there))
    assert (tmp_path / "there" / "model.json").exists()
    if tier == "secure":
        run_study(there.study, tmp_path / "here")
        assert told(tmp_path / "there") == told(tmp_path / "here")


class Killed(Exception):
    """The server dies."""


@pytest.mark.parametrize("step", [0, 1, 2, 3, 5, 7, 9])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_that_was_killed_resumes_with_the_same_bits(
    step: int, when: str, tmp_path: Path
) -> None:
    there = Federation(tmp_path, tables(4))

    class Dying(Sites):
        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            if step_of(request) == step and when == "before":
                raise Killed
            for number, client in enumerate(clients):
                if step_of(request) == step and number == 2:
                    raise Killed  # some clients have answered, and their answers are lost
                yield client, there.sites[client].answer(request, "coordinator")

    with pytest.raises(Killed):
        there.run(tmp_path / "there", Dying(there))
    there.sites = there.open_sites()
    there.run(tmp_path / "there")
    run_study(there.study, tmp_path / "here")
    assert told(tmp_path / "there") == told(tmp_path / "here")


def test_a_client_that_was_away_catches_up_from_the_transcript(tmp_path: Path) -> None:
    """The end of its log was lost, with its own replies: it knows them by its seal."""
    there = Federation(tmp_path, tables(4))
    log = tmp_path / "c01" / "following"

    class Away(Sites):
        done = False

        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            if step_of(request) == 7 and not self.done:
                self.done = True
                memory = next(log.iterdir()) / "steps.bin"
                raw = memory.read_bytes()
                memory.write_bytes(raw[: len(raw) // 2])
                there.sites["c01"] = there.open_site("c01")
            yield from super().exchange(clients, request, seconds)

    there.run(tmp_path / "there", Away(there))
    run_study(there.study, tmp_path / "here")
    assert told(tmp_path / "there") == told(tmp_path / "here")


@pytest.mark.parametrize("n_clients", [4, 12])
def test_a_client_that_stays_away(n_clients: int, tmp_path: Path) -> None:
    """Small federations wait for it; in large ones at least three leave together."""
    rows = tables(n_clients)
    there = Federation(tmp_path, rows, clustering="tol = 0.0\nmax_rounds = 6")
    cohorts: list[tuple[str, ...]] = []

    class Leaving(Sites):
        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            header = unpack(request).header
            if any(name == "PairwiseMasks" for name, _ in header.get("transforms", ())):
                cohorts.append(tuple(header["cohort"]))
            for client in clients:
                if client == "c01" and (header.get("step") or 0) >= 5:
                    yield client, "is not connected"
                else:
                    yield client, there.sites[client].answer(request, "coordinator")

    transport = Leaving(there)
    if n_clients == 4:
        with pytest.raises(TooFewClients, match="c01") as refused:
            there.run(tmp_path / "there", transport, deadline=0.2)
        assert not refused.value.final, "it can be continued when c01 is back"
        there.run(tmp_path / "there")
        run_study(there.study, tmp_path / "here")
        assert told(tmp_path / "there") == told(tmp_path / "here")
        return
    there.run(tmp_path / "there", transport, deadline=0.2)
    used = sorted(set(cohorts), key=len)
    assert [len(cohort) for cohort in used] == [9, 12]
    assert not find_conflict(used[0], used[1:], 3)
    assert "c01" not in used[0]
