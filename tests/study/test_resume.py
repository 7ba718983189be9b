"""An interrupted study resumes, and has the results of an uninterrupted one."""

import hashlib
import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError, DataError, load
from fedclust.algorithms.bounded_c_means import BoundedCMeans
from fedclust.channels import LocalChannel
from fedclust.core import Plan, Request, Round
from fedclust.privacy.accounting import epsilon_of
from fedclust.study import Study, read_study
from fedclust.study.journal import Journal
from fedclust.study.phases import Phase
from fedclust.study.pool import SessionChannel
from fedclust.study.run import Outcome, run_study
from fedclust.tiers import Private

from .example import SMALLEST, write

STUDY = SMALLEST + "n_init = 3\ntol = 0\nmax_rounds = 12\n"


class Stop:
    """An interrupt (Ctrl-C) after a number of rounds."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, phase: str, plan: Plan, last: Round) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def read_results(folder: Path) -> dict[str, Any]:
    files = {name: (folder / name).read_text() for name in ("history.jsonl", "profile.json")}
    model = json.loads((folder / "model.json").read_text())
    return {**files, "model": {k: v for k, v in model.items() if k not in ("created", "run_id")}}


@pytest.fixture(autouse=True)
def every_round_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedclust.study.journal._PAUSE", 0.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, int]:
    """A run that nothing interrupts, and how many rounds it has."""
    folder, seen = tmp_path_factory.mktemp("whole"), list[int]()
    study = read_study(write(folder, STUDY))
    return run_study(study, folder / "whole", on_round=lambda *_: seen.append(1)), len(seen)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.99])
def test_a_resumed_run_has_the_results_of_an_uninterrupted_one(
    tmp_path: Path, whole: tuple[Outcome, int], share: float
) -> None:
    study, (outcome, n_rounds) = read_study(write(tmp_path, STUDY)), whole
    after = 1 + int(share * (n_rounds - 1))
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "cut", on_round=Stop(after))
    assert not (tmp_path / "cut").exists()
    done = run_study(study, tmp_path / "cut", resume=True)
    assert read_results(tmp_path / "cut") == read_results(outcome.folder)
    labels = [Path(run.labels["north"]).read_bytes() for run in (done, outcome)]
    assert labels[0] == labels[1]
    assert not list(tmp_path.glob(".*unfinished"))


def test_rounds_that_were_run_are_not_run_again(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, STUDY))
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "run", on_round=Stop(20))
    seen: list[int] = []
    run_study(study, tmp_path / "run", resume=True, on_round=lambda *_: seen.append(1))
    whole: list[int] = []
    run_study(study, tmp_path / "other", on_round=lambda *_: whole.append(1))
    assert len(seen) <= len(whole) - 19


NOISY = (
    SMALLEST
    + "[features]\nage = { low = 0, high = 120 }\nweight = { low = 20, high = 180 }\n"
    + '[privacy]\ntier = "dp"\n'
)


def test_noise_that_was_drawn_is_not_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every noisy round is saved at once, however short it was."""
    pytest.importorskip("opendp")
    monkeypatch.setattr("fedclust.study.journal._PAUSE", 1e9)
    study, drawn = read_study(write(tmp_path, NOISY)), []
    monkeypatch.setattr(
        "fedclust.privacy.noise.gaussian",
        lambda scale, n: drawn.append(n) or np.zeros(n, dtype=np.int64),  # type: ignore[func-returns-value]
    )
    run_study(study, tmp_path / "whole")
    once = len(drawn)
    for after in range(1, once // 2):
        cut = tmp_path / f"cut{after}"
        drawn.clear()
        with pytest.raises(KeyboardInterrupt):
            run_study(study, cut, on_round=Stop(after))
        run_study(study, cut, resume=True)
        assert len(drawn) == once
        assert read_results(cut)["model"]["privacy"]["epsilon_spent"] is None


def test_noise_that_is_drawn_again_is_in_the_guarantee(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round whose answers were lost costs budget twice, and the guarantee says so."""
    pytest.importorskip("opendp")
    study, real = read_study(write(tmp_path, NOISY)), SessionChannel.ask
    lost: list[int] = []

    def ask(self: Any, plan: Plan, request: Request) -> Any:
        answers = list(real(self, plan, request))
        if plan.algorithm.key == "bounded-c-means" and request.round == 1 and not lost:
            lost.append(request.round)
            raise KeyboardInterrupt
        return answers

    monkeypatch.setattr(SessionChannel, "ask", ask)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "cut")
    run_study(study, tmp_path / "cut", resume=True)
    privacy = read_results(tmp_path / "cut")["model"]["privacy"]
    tier = Private()
    mu = tier.mu(BoundedCMeans(2, np.zeros(2), np.ones(2)))
    assert privacy["epsilon_spent"] == pytest.approx(
        epsilon_of(math.sqrt(tier.budget + mu**2), tier.delta)
    )
    assert privacy["epsilon_spent"] > 1.0
    assert "the total privacy loss is epsilon=1." in privacy["guarantee"]


def test_a_run_resumes_only_with_the_same_study_and_files(tmp_path: Path) -> None:
    path = write(tmp_path, STUDY)
    with pytest.raises(ConfigError, match="--resume: .* has no unfinished run"):
        run_study(read_study(path), tmp_path / "run", resume=True)
    with pytest.raises(KeyboardInterrupt):
        run_study(read_study(path), tmp_path / "run", on_round=Stop(5))
    path.write_text(STUDY.replace("n_init = 3", "n_init = 2"))
    with pytest.raises(ConfigError, match="cannot be continued: study.toml has changed since this"):
        run_study(read_study(path), tmp_path / "run", resume=True)
    path.write_text(STUDY)
    north = tmp_path / "north.csv"
    text = north.read_text()
    north.write_text(text + "north99,41.00,70.00,f\n")
    for resume in (True, False):  # it is not discarded, either
        with pytest.raises(ConfigError, match="north.csv of client 'north' has changed.*--force"):
            run_study(read_study(path), tmp_path / "run", resume=resume)
    north.write_text(text)
    run_study(read_study(path), tmp_path / "run", resume=True)


def interrupt(study: Study, folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_study(study, folder, on_round=Stop(5))


def test_the_content_of_files_decides_not_their_times(tmp_path: Path) -> None:
    study, north = read_study(write(tmp_path, STUDY)), tmp_path / "north.csv"
    run_study(study, tmp_path / "whole")
    interrupt(study, tmp_path / "run")
    copy = tmp_path / "copy.csv"  # a backup was restored: another inode, another time
    shutil.copy(north, copy)
    copy.replace(north)
    os.utime(north, (1, 1))
    run_study(study, tmp_path / "run", resume=True)
    assert read_results(tmp_path / "run") == read_results(tmp_path / "whole")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no time of the last change of status")
def test_one_changed_byte_is_noticed_even_if_the_times_are_put_back(tmp_path: Path) -> None:
    study, north = read_study(write(tmp_path, STUDY)), tmp_path / "north.csv"
    interrupt(study, tmp_path / "run")
    seen = north.stat()
    text = north.read_text()
    with open(north, "r+") as file:  # the same inode and the same size
        file.write(text.replace("north5,", "north6,", 1))
    os.utime(north, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    with pytest.raises(ConfigError, match="north.csv of client 'north' has changed"):
        run_study(study, tmp_path / "run", resume=True)


def test_unchanged_files_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, real = read_study(write(tmp_path, STUDY)), hashlib.file_digest
    read: list[str] = []

    def digest(file: Any, kind: str) -> Any:
        read.append(Path(file.name).name)
        return real(file, kind)

    monkeypatch.setattr("hashlib.file_digest", digest)
    interrupt(study, tmp_path / "run")
    assert read == ["north.csv", "south.csv"]
    os.utime(tmp_path / "south.csv", (1, 1))
    run_study(study, tmp_path / "run", resume=True)
    assert read[2:] == ["south.csv"]


def test_a_run_resumes_only_with_the_same_earlier_run(tmp_path: Path) -> None:
    """Another --match-run, or none, would give other numbers."""
    study = read_study(write(tmp_path, STUDY))
    may, june = (run_study(study, tmp_path / name).model for name in ("may", "june"))
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "run", match=may, on_round=Stop(5))
    for other in (None, june):
        with pytest.raises(
            ConfigError, match="cannot be continued: the run that --match-run names has"
        ):
            run_study(study, tmp_path / "run", match=other, resume=True)
    run_study(study, tmp_path / "run", match=load(tmp_path / "may"), resume=True)


def test_files_that_came_or_went_are_changes(tmp_path: Path) -> None:
    path = write(tmp_path, STUDY.replace('"north.csv"', '"north*.csv"'))
    interrupt(read_study(path), tmp_path / "run")
    shutil.copy(tmp_path / "north.csv", tmp_path / "north2.csv")
    with pytest.raises(ConfigError, match="the list of files of client 'north' has changed"):
        run_study(read_study(path), tmp_path / "run", resume=True)


def test_an_unfinished_run_is_announced_and_not_discarded(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, STUDY))
    interrupt(study, tmp_path / "run")
    words = r"an unfinished run exists in .*\.run\.unfinished; continue it with --resume, or start"
    with pytest.raises(ConfigError, match=words):
        run_study(study, tmp_path / "run")
    run_study(study, tmp_path / "run", resume=True)
    with pytest.raises(ConfigError, match="--resume: the run in .* is already finished; use --for"):
        run_study(study, tmp_path / "run", resume=True)
    interrupt_again = Stop(5)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "run", force=True, on_round=interrupt_again)
    assert (tmp_path / "run" / "model.json").exists()  # the earlier run, until the new one is done
    run_study(study, tmp_path / "run", resume=True)  # as the message after Ctrl-C says
    run_study(study, tmp_path / "run", force=True)


def test_a_run_that_saved_nothing_is_not_announced(tmp_path: Path) -> None:
    """The user corrects the data and runs the same command again."""
    path = write(tmp_path, STUDY.replace("n_clusters = 2", "n_clusters = 300"))
    with pytest.raises(DataError, match="n_clusters = 300"):
        run_study(read_study(path), tmp_path / "run")
    path.write_text(STUDY)
    run_study(read_study(path), tmp_path / "run")


def test_labels_of_an_interrupted_run_are_removed_with_it(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, STUDY))

    def stop_late(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedclust.study.run.describe_run", stop_late)  # labels are written before
        with pytest.raises(KeyboardInterrupt):
            run_study(study, tmp_path / "run")
    assert len(list((tmp_path / "fedclust-labels").iterdir())) == 1
    done = run_study(study, tmp_path / "run", force=True)
    (left,) = (tmp_path / "fedclust-labels").iterdir()
    assert left.name == f"run-{done.model.about.run_id}"


def test_a_history_that_is_ahead_of_its_state_is_truncated(tmp_path: Path) -> None:
    """After a kill between the two files of a save, the state decides."""
    study = read_study(write(tmp_path, STUDY))
    run_study(study, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "run", on_round=Stop(10))
    journal = tmp_path / ".run.unfinished" / "journal"
    last = sorted(journal.glob("*.json"))[-1]
    kept = json.loads(last.read_text())
    kept["lines"].append({**kept["lines"][-1], "round": 99})
    kept["sent"].append({"north": 10**9})
    last.write_text(json.dumps(kept))
    run_study(study, tmp_path / "run", resume=True)
    assert read_results(tmp_path / "run") == read_results(tmp_path / "whole")


def test_plans_without_queries_have_no_rounds(tmp_path: Path) -> None:
    import numpy as np

    from fedclust.algorithms import make_seeding
    from fedclust.core import Schema

    journal = Journal(tmp_path / "journal")
    box = Schema(2, low=np.zeros(2), high=np.ones(2))
    run = journal.runner(Phase.CLUSTERING)
    done = run(Plan(make_seeding("uniform", 3)), LocalChannel({"a": np.ones((5, 2))}), box)
    assert done.n_rounds == 0
    assert done.model.shape == (3, 2)
    assert not list((tmp_path / "journal").glob("*.npz"))
