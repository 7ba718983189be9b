"""A saved round continues the very same run, or says why it cannot."""

import errno
from pathlib import Path

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import (
    CheckpointError,
    ClientSampling,
    ConfigError,
    Data,
    Plan,
    Schema,
    load_round,
    rounds,
    save_round,
)
from fedclust.privacy import MinSamples

SCHEMA = Schema(2, low=np.zeros(2), high=np.ones(2))
PLAN = Plan(make("llf-fcm", 3, max_rounds=8, tol=0.0), seed=5)


def channel() -> LocalChannel:
    rng = np.random.default_rng(0)
    return LocalChannel({f"c{i}": Data.of(rng.random((20, 2))) for i in range(3)})


def test_resuming_from_any_saved_round_gives_the_same_bits(tmp_path: Path) -> None:
    whole = list(rounds(PLAN, channel(), SCHEMA))
    for done in whole[:-1]:
        save_round(tmp_path / "round.npz", PLAN, done)
        saved = load_round(tmp_path / "round.npz", PLAN)
        assert (saved.number, saved.cohort) == (done.number, done.cohort)
        *_, last = rounds(PLAN, channel(), SCHEMA, resume=saved)
        assert last.number == whole[-1].number
        assert last.state.centers.tobytes() == whole[-1].state.centers.tobytes()


def test_the_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "round.npz"
    for done in rounds(PLAN, channel(), SCHEMA):
        save_round(path, PLAN, done)
    assert [p.name for p in tmp_path.iterdir()] == ["round.npz"]


def test_a_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "round.npz"
    first, second, *_ = rounds(PLAN, channel(), SCHEMA)
    save_round(path, PLAN, first)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=r"round.npz cannot be written \(No space left on device\)"):
        save_round(path, PLAN, second)
    monkeypatch.undo()
    assert load_round(path, PLAN).number == 0
    assert [p.name for p in tmp_path.iterdir()] == ["round.npz"]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Plan(make("llf-fcm", 4, max_rounds=8, tol=0.0), seed=5), "different n_clusters .3, now 4"),
        (Plan(PLAN.algorithm, seed=6), "different seed"),
        (Plan(PLAN.algorithm, (MinSamples(2),), seed=5), "different transforms"),
    ],
)
def test_another_plan_is_refused(tmp_path: Path, other: Plan, words: str) -> None:
    save_round(tmp_path / "r", PLAN, next(rounds(PLAN, channel(), SCHEMA)))
    with pytest.raises(CheckpointError, match=words):
        load_round(tmp_path / "r", other)


def test_a_damaged_or_missing_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with pytest.raises(CheckpointError, match="no such checkpoint"):
        load_round(path, PLAN)
    save_round(path, PLAN, next(rounds(PLAN, channel(), SCHEMA)))
    good = path.read_bytes()
    for damage in (b"", b"nonsense", good[: len(good) // 2]):
        path.write_bytes(damage)
        with pytest.raises(CheckpointError, match="not a readable checkpoint"):
            load_round(path, PLAN)


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.npz"
    np.save(tmp_path / "r.npy", np.arange(3))
    with pytest.raises(CheckpointError, match="not a readable checkpoint"):
        load_round(tmp_path / "r.npy", PLAN)
    save_round(path, PLAN, next(rounds(PLAN, channel(), SCHEMA)))
    with np.load(path) as saved:
        arrays = dict(saved)
    for header in ("[1]", '{"plan": 3}'):
        np.savez(path, **{**arrays, "fedclust": np.array(header)})
        with pytest.raises(CheckpointError, match="its header is not a JSON object"):
            load_round(path, PLAN)
    without = str(arrays["fedclust"]).replace('"cohort"', '"cohorts"')
    np.savez(path, **{**arrays, "fedclust": np.array(without)})
    with pytest.raises(CheckpointError, match="not a readable checkpoint .'cohort'"):
        load_round(path, PLAN)


def test_numpy_numbers_in_a_plan_can_be_saved(tmp_path: Path) -> None:
    plan = Plan(make("llf-fcm", np.int64(3), max_rounds=np.int32(4)), seed=np.int64(5))  # type: ignore[arg-type]
    save_round(tmp_path / "r", plan, next(rounds(plan, channel(), SCHEMA)))
    assert load_round(tmp_path / "r", plan).number == 0


def test_a_run_is_resumed_with_the_participation_it_began_with(tmp_path: Path) -> None:
    save_round(tmp_path / "r", PLAN, next(rounds(PLAN, channel(), SCHEMA)))
    saved = load_round(tmp_path / "r", PLAN)
    with pytest.raises(ConfigError, match="resume: the run began with .*fraction=1.0.*0.5"):
        next(rounds(PLAN, channel(), SCHEMA, sampling=ClientSampling(0.5), resume=saved))
