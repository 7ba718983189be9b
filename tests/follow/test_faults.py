"""Kills, restarts and lost messages in a followed study: the same bits, or a sentence."""

import errno
import pkgutil
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.client.disclosures import read_disclosures
from fedclust.core import Code, MessageError, TooFewClients, WriteError, files
from fedclust.core.wire import unpack
from fedclust.follow import relay
from fedclust.follow.entries import Entry
from fedclust.follow.transcript import Transcript
from fedclust.privacy.cohorts import find_conflict
from fedclust.study.layouts import layout_of
from fedclust.study.run import run_study

from ..support.clock import Clock
from ..support.following import Federation, Sites, tables
from ..support.in_process import results_of

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
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")


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
        assert results_of(tmp_path / "there") == results_of(tmp_path / "here")


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
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")


@pytest.mark.parametrize("lost", [1, 20, 200])
def test_a_server_that_died_while_it_wrote_the_transcript_resumes_with_the_same_bits(
    lost: int, tmp_path: Path
) -> None:
    """Clients repeat their replies to the step whose record is incomplete."""
    there = Federation(tmp_path, tables(4))

    class Dying(Sites):
        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            if step_of(request) == 7:
                raise Killed
            yield from super().exchange(clients, request, seconds)

    with pytest.raises(Killed):
        there.run(tmp_path / "there", Dying(there))
    (log,) = tmp_path.glob("transcript-*/steps.bin")
    with open(log, "r+b") as file:
        file.truncate(log.stat().st_size - lost)
    there.sites = there.open_sites()
    there.run(tmp_path / "there")
    run_study(there.study, tmp_path / "here")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")


def test_a_damaged_transcript_ends_in_a_sentence(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "transcript")
    for step in range(3):
        transcript.put(Entry(step, ("c00",), values=({"a": step},)))
    log = tmp_path / "transcript" / "steps.bin"
    raw = bytearray(log.read_bytes())
    raw[len(raw) // 2] ^= 1
    log.write_bytes(raw)
    again = Transcript(tmp_path / "transcript")
    assert again.get(0) is not None
    assert again.get(2) is not None
    assert again.get(3) is None
    with pytest.raises(MessageError, match="damaged"):
        again.get(1)


def test_a_full_disk_at_the_server_leaves_no_half_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = Transcript(tmp_path)
    transcript.put(Entry(0, ("c00",), values=({},)))
    size = (tmp_path / "steps.bin").stat().st_size

    class Full(FileIO):
        def write(self, raw: Any) -> int:
            if len(raw) > 16:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(raw)

    with monkeypatch.context() as full:
        full.setattr(files, "open", lambda *args, **more: Full(args[0], args[1]), raising=False)
        with pytest.raises(WriteError, match="steps.bin cannot be written"):
            transcript.put(Entry(1, ("c00",), values=({},)))
    assert (tmp_path / "steps.bin").stat().st_size == size
    transcript.put(Entry(1, ("c00",), values=({},)))
    assert Transcript(tmp_path).get(1) is not None


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
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")


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
        assert results_of(tmp_path / "there") == results_of(tmp_path / "here")
        return
    there.run(tmp_path / "there", transport, deadline=0.2)
    used = sorted(set(cohorts), key=len)
    assert [len(cohort) for cohort in used] == [9, 12]
    assert not find_conflict(used[0], used[1:], 3)
    assert "c01" not in used[0]


@pytest.mark.parametrize("n_clients", [4, 12])
def test_a_client_that_died_costs_seconds_and_one_that_works_has_the_whole_deadline(
    n_clients: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaving is final here, so quick rounds do not shorten the deadline of the next one."""
    clustering = "fuzzy = true\nfuzzifier = 1.5\ntol = 0.0\nmax_rounds = 20"
    there = Federation(tmp_path, tables(n_clients), clustering=clustering)
    clock, deadlines, cohorts, died = Clock(), set(), set(), []
    monkeypatch.setattr(relay, "time", clock)

    class Dying(Sites):
        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            header = unpack(request).header
            step = header.get("step") or 0
            if step >= 10:
                deadlines.add(seconds)
                cohorts.add(tuple(header.get("cohort", ())))
            for client in clients:
                if client == "c01" and step >= 10:
                    died.append(clock.now)
                    yield client, "cannot be reached"
                else:
                    yield client, there.sites[client].answer(request, "coordinator")

    transport = Dying(there)
    if n_clients == 4:
        with pytest.raises(TooFewClients, match="c01: cannot be reached"):
            there.run(tmp_path / "there", transport, deadline=120.0)
    else:
        there.run(tmp_path / "there", transport, deadline=120.0)
    assert deadlines == {120.0}
    assert 0 < died[-1] - died[0] < 120.0
    least = min(len(cohort) for cohort in cohorts if cohort)
    assert least == (4 if n_clients == 4 else 9), "fewer than three never leave"


def test_a_small_federation_waits_two_deadlines_and_ends_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is connected, and never answers; fewer than eight clients leave none out."""
    there, clock = Federation(tmp_path, tables(7), clustering="tol = 0.0\nmax_rounds = 6"), Clock()
    monkeypatch.setattr(relay, "time", clock)
    silent: list[float] = []

    class Hanging(Sites):
        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            hangs = (unpack(request).header.get("step") or 0) >= 5 and "c01" in clients
            yield from super().exchange(
                [c for c in clients if not (hangs and c == "c01")], request, seconds
            )
            if hangs:
                silent.append(clock.now)
                clock.now += seconds

    with pytest.raises(TooFewClients) as ended:
        there.run(tmp_path / "there", Hanging(there), deadline=120.0)
    assert clock.now - silent[0] <= 2 * 120.0 + 1.0
    assert "no usable answer from c01, and the others cannot go on without" in str(ended.value)
    assert "no answer within 120 seconds" in str(ended.value)


def test_a_client_that_comes_late_is_refused_at_once_and_the_study_is_not_lost(
    tmp_path: Path,
) -> None:
    """The refusal names the clients of the earlier totals, and a study with exactly these runs."""
    there = Federation(tmp_path, tables(4), clustering="max_rounds = 3\ntol = 0.0")
    late = there.sites.pop("c03")
    there.run(tmp_path / "first")
    there.sites["c03"] = late
    everybody = Sites(there)
    with pytest.raises(TooFewClients, match=r"exactly these.*\[clients\]") as refused:
        there.run(tmp_path / "second", everybody, run="b2", deadline=60.0)
    assert refused.value.final, "no other attempt is made"
    assert "c00, c01, c02" in str(refused.value)
    assert {r.code for r in refused.value.reasons.values()} == {Code.COHORT}
    text = there.path.read_text()
    there.path.write_text(text.replace('c03 = "c03/people.csv"\n', ""))
    there.sites = {c: there.open_site(c) for c in layout_of(there.study).select_clients(list(CS))}
    there.run(tmp_path / "third", run="c3")
    assert results_of(tmp_path / "third") == results_of(tmp_path / "first")


@pytest.mark.parametrize("where", ["ledger", "memory", "disclosures"])
def test_a_full_disk_at_a_client_ends_the_study_with_a_sentence_until_there_is_space(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Federation(tmp_path, tables(4))
    fill = FILL[where]
    full = fill(monkeypatch, tmp_path / "c01")

    class Filling(Sites):
        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            full["now"] = (step_of(request) or 0) >= 5
            yield from super().exchange(clients, request, seconds)

    with pytest.raises(TooFewClients, match="c01: refused: its disk is full; free space") as ended:
        there.run(tmp_path / "there", Filling(there), deadline=60.0)
    assert ended.value.final
    full["now"] = False
    there.sites = there.open_sites()
    there.run(tmp_path / "there")
    run_study(there.study, tmp_path / "here")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")
    for client in there.rows:
        list(read_disclosures(tmp_path / client / "disclosures.jsonl"))  # no half line


def _fill(name: str, path_of: Callable[[Any], Path]) -> Callable[..., dict[str, bool]]:
    """A function of fedclust that fails as on a full disk, for the files in one folder."""

    def fill(monkeypatch: pytest.MonkeyPatch, kit: Path) -> dict[str, bool]:
        full = {"now": False}
        module, _, method = name.rpartition(".")
        owner = pkgutil.resolve_name(module)
        works = getattr(owner, method)

        def fails(first: Any, *more: Any, **named: Any) -> Any:
            if full["now"] and path_of(first).is_relative_to(kit):
                raise OSError(errno.ENOSPC, "No space left on device")
            return works(first, *more, **named)

        monkeypatch.setattr(owner, method, fails)
        return full

    return fill


CS = ("c00", "c01", "c02", "c03")
FILL = {
    "ledger": _fill("fedclust.privacy.ledger:Ledger._write", lambda ledger: ledger.path),
    "memory": _fill("fedclust.follow.memory:RunMemory._write", lambda memory: memory.folder),
    "disclosures": _fill("fedclust.client.disclosures.append_line", Path),
}
