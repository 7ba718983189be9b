"""A server that wants a second draw of noise, or more queries than a client allows."""

import errno
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fedclust.core.wire import Frame, pack, unpack
from fedclust.follow.endpoint import FollowingEndpoint
from fedclust.follow.memory import RunMemory
from fedclust.privacy.draws import Draws
from fedclust.privacy.ledger import Ledger

from ..support.following import Federation, Sites, tables
from .scenes import AUTHOR, Recorded, Scene, is_refused, record_run

pytest.importorskip("cryptography")
pytest.importorskip("opendp")

ROWS = tables(5)
FEDERATIONS: dict[str, dict[str, Any]] = {
    "dp": {
        "tier": "dp",
        "privacy": "epsilon = 4.0",
        "consent": 'privacy = "dp"\nepsilon = 8.0',
    },
    "secure+dp": {
        "tier": "secure+dp",
        "privacy": "epsilon = 4.0",
        "consent": 'privacy = "secure+dp"\nepsilon = 8.0',
    },
}


@pytest.fixture(scope="module", params=sorted(FEDERATIONS))
def noisy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record_run(tmp_path_factory.mktemp("noisy"), ROWS, **FEDERATIONS[request.param])


def spent(kit: Path) -> float:
    return Ledger(kit / "ledger.jsonl").spent


def at_the_step(scene: Scene, n: int) -> list[FollowingEndpoint]:
    """Processes of one client that have read its files before the step."""
    processes = [FollowingEndpoint(scene.folder / "c00", "c00", "s") for _ in range(n)]
    header = {"kind": "catch-up", "id": scene.request.header["id"], "about": {"study": "s"}}
    for process in processes:
        answer = unpack(process.answer(pack(header, {}), AUTHOR))
        assert answer.header["values"] == {"next": scene.step - 1}
    return processes


@pytest.mark.parametrize("at", ["CellSeeding", "BoundedCMeans"])
def test_a_step_has_one_noise_in_all_processes(at: str, noisy: Recorded, tmp_path: Path) -> None:
    """Asked twice, after a restart, and by two processes that were started before."""
    scene = noisy.before(noisy.step(at), tmp_path)
    raw, processes = pack(*scene.request), at_the_step(scene, 3)
    before = spent(tmp_path / "c00")
    answers = [process.answer(raw, AUTHOR) for process in processes for _ in range(2)]
    answers.append(scene.site("c00").answer(raw, AUTHOR))
    assert unpack(answers[0]).header["kind"] == "reply"
    assert len(set(answers)) == 1
    lines = (tmp_path / "c00" / "ledger.jsonl").read_text().splitlines()
    costs = [entry["cost"] for entry in map(json.loads, lines) if entry["event"] == "noise"]
    assert spent(tmp_path / "c00") - before == pytest.approx(costs[-1])


def test_a_process_that_does_not_look_would_draw_again(
    noisy: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunMemory, "is_current", True)
    monkeypatch.setattr(Draws, "_load", lambda self, question: None)
    scene = noisy.before(noisy.step("BoundedCMeans"), tmp_path)
    raw = pack(*scene.request)
    assert len({process.answer(raw, AUTHOR) for process in at_the_step(scene, 2)}) == 2


class Killed(Exception):
    """The process dies."""


def test_a_process_that_dies_before_it_sends_pays_once(
    noisy: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draw is kept before it is paid for, so a study with all of the budget can go on."""
    scene = noisy.before(noisy.step("BoundedCMeans"), tmp_path)
    before = spent(tmp_path / "c00")

    def die(self: RunMemory, reply: Any, *, sync: bool) -> None:
        assert sync, "a reply with noise is on disk before it leaves"
        raise Killed

    with monkeypatch.context() as killing:
        killing.setattr(RunMemory, "keep_reply", die)
        answer = scene.ask(scene.request)
        assert is_refused(answer, "internal"), "no draw leaves that was not kept"
    once = spent(tmp_path / "c00") - before
    scene.restart("c00")
    first = scene.ask(scene.request)
    scene.restart("c00")
    assert pack(*scene.ask(scene.request)) == pack(*first)
    assert once > 0
    assert spent(tmp_path / "c00") - before == pytest.approx(once)


@pytest.mark.parametrize(
    ("owner", "name"), [(Draws, "_keep"), (Ledger, "spend"), (RunMemory, "keep_reply")]
)
def test_a_full_disk_costs_no_budget_twice(
    owner: type, name: str, noisy: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = noisy.before(noisy.step("BoundedCMeans"), tmp_path)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as filled:
        filled.setattr(owner, name, fail)
        assert is_refused(scene.ask(scene.request), "disk")
    scene.restart("c00")
    assert scene.ask(scene.request).header["kind"] == "reply"
    lines = (tmp_path / "c00" / "ledger.jsonl").read_text().splitlines()
    paid = [entry for entry in map(json.loads, lines) if entry["event"] == "noise"]
    assert len({entry["what"] for entry in paid}) == len(paid)
    assert any(entry["what"].startswith("bounded-c-means") for entry in paid)


def test_draws_are_removed_with_the_secret_when_the_study_is_over(
    noisy: Recorded, tmp_path: Path
) -> None:
    scene = noisy.before(noisy.step("BoundedCMeans"), tmp_path)
    scene.ask(scene.request)
    [folder] = [path.parent for path in (tmp_path / "c00").glob("following/*/steps.bin")]
    files = list((folder / "noise").iterdir())
    assert files
    assert {file.stat().st_mode & 0o077 for file in files} == {0}
    RunMemory(folder).end("the study is finished")
    assert not (folder / "noise").exists()
    assert not (folder / "secret").exists()


def test_without_its_memory_a_client_would_draw_again(
    noisy: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunMemory, "keep_reply", lambda self, reply, sync: None)
    monkeypatch.setattr(Draws, "_load", lambda self, question: None)
    scene = noisy.before(noisy.step("BoundedCMeans"), tmp_path)
    first = scene.ask(scene.request)
    scene.restart("c00")
    assert first.header["kind"] == "reply"
    assert pack(*scene.ask(scene.request)) != pack(*first)


@pytest.mark.parametrize(
    "change",
    [
        lambda settings: {**settings, "mu": settings["mu"] * 1.001},
        lambda settings: {**settings, "mu": settings["mu"] * 1e6},
        lambda settings: {**settings, "share": settings["share"] * 0.999},
    ],
)
def test_less_noise_is_refused(change: Any, noisy: Recorded, tmp_path: Path) -> None:
    scene = noisy.before(noisy.step("BoundedCMeans"), tmp_path)
    header, arrays = scene.request
    transforms = [
        [name, change(settings) if name == "IntegerGaussian" else settings]
        for name, settings in header["transforms"]
    ]
    before = spent(tmp_path / "c00")
    assert is_refused(scene.ask(Frame({**header, "transforms": transforms}, arrays)), "study")
    assert spent(tmp_path / "c00") == before


def test_no_cohort_loses_members_under_noise(tmp_path: Path) -> None:
    """Their noise would be missing in the total."""
    there = Federation(tmp_path / "kits", tables(9, n=12), **FEDERATIONS["secure+dp"])
    cohorts: set[tuple[str, ...]] = set()

    class Leaving(Sites):
        def exchange(self, clients: Sequence[str], request: bytes, seconds: float) -> Any:
            header = unpack(request).header
            masked = any(name == "PairwiseMasks" for name, _ in header.get("transforms", ()))
            if masked:
                cohorts.add(tuple(header["cohort"]))
            for client, answer in super().exchange(clients, request, seconds):
                away = masked and client in ("c01", "c02", "c03")
                yield client, "is not connected" if away else answer

    with pytest.raises(RuntimeError, match="cannot go on"):
        there.run(tmp_path / "out", Leaving(there), deadline=0.0)
    assert {len(cohort) for cohort in cohorts} == {9}


def test_many_runs_do_not_exceed_the_budget(tmp_path: Path) -> None:
    """The same study again and again, by new processes: every draw is paid for."""
    there = Federation(tmp_path / "kits", ROWS, **FEDERATIONS["dp"])
    done = 0
    for number in range(5):
        there.sites = there.open_sites()
        try:
            there.run(tmp_path / f"out{number}", run=f"{number:016x}")
            done += 1
        except RuntimeError as refused:
            assert re.search("budget is spent|epsilon = 8 over all studies", str(refused))
            break
    assert 1 <= done < 5
    budget = Ledger(tmp_path / "kits" / "c00" / "ledger.jsonl").spent
    limit = there.sites["c00"]._session.policy.limits.budget
    assert limit is not None
    assert budget <= limit * (1 + 1e-9)


def test_many_runs_do_not_exceed_the_query_limit(tmp_path: Path) -> None:
    consent = 'privacy = "secure"\nmax_queries = 12'
    there = Federation(tmp_path / "kits", ROWS, consent=consent, privacy="max_queries = 12")
    text = there.path.read_text()
    for seed in range(4):
        there.path.write_text(text.replace("[privacy]", f"seed = {seed}\n[privacy]"))
        there.sites = there.open_sites()
        try:
            there.run(tmp_path / f"out{seed}", run=f"{seed:016x}")
        except RuntimeError as refused:
            assert "query limit is 12" in str(refused)
            break
    else:
        pytest.fail("no limit")
    for name in there.rows:
        assert Ledger(tmp_path / "kits" / name / "ledger.jsonl").n_queries <= 12
