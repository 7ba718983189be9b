"""Over Flower's grid everything is what it is in one process, and what goes wrong is a sentence."""

import json
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="studies over Flower need fedclust[flower]")
from flwr.app import Message

from fedclust.channels import LocalChannel, RemoteChannel
from fedclust.core import AnyAlgorithm, ConfigError, FedclustError, Plan, run
from fedclust.study import read_study
from fedclust.study.run import run_study

from ..support.flower_clients import grid_of, met, run_app
from ..support.in_process import NAMES, PLAIN, as_data, as_they_are, results_of
from ..support.plans import SCHEMA, plans
from ..support.studies import for_machines, write_study


@pytest.mark.parametrize(
    "algorithm", plans(), ids=lambda a: f"{type(a).__name__} {getattr(a, 'index', '')}"
)
def test_every_plan_gives_the_same_bits(algorithm: AnyAlgorithm, tmp_path: Path) -> None:
    plan = Plan(algorithm, seed=5)
    here = run(plan, LocalChannel(as_data()), SCHEMA)
    remote = RemoteChannel(met(grid_of(tmp_path)), about={"study": "s"})
    rows = as_they_are(-9, 30) if algorithm.traits.bounded else PLAIN
    there = run(plan, remote.over(rows, SCHEMA), SCHEMA)
    assert [a.tobytes() for a in there.state.arrays().values()] == [
        a.tobytes() for a in here.state.arrays().values()
    ]
    assert str(there.history) == str(here.history)


def test_what_clients_say_for_themselves_is_said_to_be_unused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_app(grid_of(tmp_path), write_study(tmp_path).path)
    assert "[data] id of the study is not used: each client.toml sets its own" in caplog.text


def test_a_study_is_run_and_left_in_its_folder(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    study = write_study(tmp_path)
    run_study(study, tmp_path / "here")
    for_machines(study)
    run_app(grid, study.path)
    there = tmp_path / "s-run"
    assert results_of(there) == results_of(tmp_path / "here")
    assert not (there / "incidents.jsonl").exists()
    assert not list(tmp_path.glob(".s-run*"))
    for name in NAMES:
        (mine,) = (tmp_path / name / "labels").glob("s-*.csv")
        assert mine.read_text() == (tmp_path / "here" / "labels" / f"{name}.csv").read_text()
    with pytest.raises(ConfigError, match="exists already"):
        run_app(grid, study.path)
    run_app(grid, study.path, force=True)
    kept = list((tmp_path / "west" / "labels").glob("s-*.csv"))
    assert len(kept) == 2  # no run replaces another's


def test_labels_that_nobody_wants_are_not_asked_for(tmp_path: Path) -> None:
    study = write_study(tmp_path, "k-fed", more="[sampling]\nmin_clients = 3\n")
    for_machines(study)
    text = study.path.read_text().replace("[outputs]", '[outputs]\nlabels = "none"')
    study.path.write_text(text)
    run_app(grid_of(tmp_path), study.path)
    assert (tmp_path / "s-run" / "model.json").exists()
    assert not (tmp_path / "west" / "labels").exists()


def test_no_path_of_a_client_leaves_it(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    left: list[str] = []

    def listen(name: str, reply: Message) -> Message:
        left.append(repr(reply))
        return reply

    grid.spoil = listen
    run_app(grid, for_machines(write_study(tmp_path, "k-fed")))
    assert len(left) > len(NAMES)
    assert not any(str(tmp_path) in words or "people.csv" in words for words in left)


def test_a_run_that_broke_off_goes_on_where_it_was(tmp_path: Path) -> None:
    grid = grid_of(tmp_path)
    study = write_study(tmp_path, more="[sampling]\nmin_clients = 3\n")
    run_study(study, tmp_path / "here")
    for_machines(study)
    grid.spoil = lambda name, reply: reply if len(grid.sent) < 20 or name != "west" else None
    with pytest.raises(FedclustError, match="west: no answer within 1 seconds.*resume=true"):
        run_app(grid, study.path, deadline=1.0)
    first = len(grid.sent)
    grid.spoil = lambda name, reply: reply
    with pytest.raises(ConfigError, match="unfinished run"):
        run_app(grid, study.path)
    run_app(grid, study.path, resume=True)
    assert results_of(tmp_path / "s-run") == results_of(tmp_path / "here")
    assert "west" in (tmp_path / "s-run" / "incidents.jsonl").read_text()
    before = len(grid.sent)
    run_app(grid, study.path, out=str(tmp_path / "again"))
    assert len(grid.sent) - before > before - first  # what was known was not asked again


BOUNDS = "[features]\nheight = { low = -9, high = 34 }\nwidth = { low = -9, high = 34 }\n"


def study_under(tier: str | None, folder: Path) -> Path:
    text = for_machines(write_study(folder, "llf-cm", "min-max", more=BOUNDS)).read_text()
    line = "" if tier is None else f"tier = {tier}" if '"' in tier else f'tier = "{tier}"'
    text = text.replace('tier = "none"', line).replace("n_init = 2", "n_init = 1")
    (folder / "s.toml").write_text(text)
    return folder / "s.toml"


@pytest.mark.parametrize("tier", [None, "secure"])
def test_a_study_is_followed_by_processes_of_one_message(tier: str | None, tmp_path: Path) -> None:
    """Every message is a new process; what is found is what one process finds, bit for bit."""
    pytest.importorskip("cryptography")
    path = study_under(tier, tmp_path)
    run_app(grid_of(tmp_path), path)
    here = write_study(tmp_path, "llf-cm", "min-max", more=BOUNDS).path
    masked = here.read_text().replace("n_init = 2", "n_init = 1").replace('"none"', '"secure"')
    here.write_text(masked)
    run_study(read_study(here), tmp_path / "here")
    found, expected = (
        json.loads((tmp_path / name / "model.json").read_text())["clusters"]
        for name in ("s-run", "here")
    )
    assert found == expected
    for name in NAMES:
        (run,) = (tmp_path / name / "following").iterdir()
        assert json.loads((run / "state.json").read_text())["ended"] == "the study is finished"
        assert not (run / "secret").exists(), "the secret is removed with the end of the study"


@pytest.mark.parametrize("tier", ["dp", "secure+dp"])
def test_noise_is_paid_for_in_a_ledger_that_outlives_processes(tier: str, tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    run_app(grid_of(tmp_path), study_under(tier, tmp_path))
    rounds = (tmp_path / "s-run" / "history.jsonl").read_text().count("\n")
    paid = (tmp_path / "west" / "ledger.jsonl").read_text().count('"noise"')
    assert paid >= rounds


def test_questions_are_counted_for_good(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, "max_queries = 3")
    with pytest.raises(FedclustError, match="has answered 3 queries, and the query limit is 3"):
        run_app(grid, for_machines(write_study(tmp_path, scaling="none")))


def test_a_mistake_in_the_study_is_no_reason_to_resume(tmp_path: Path) -> None:
    study = write_study(tmp_path, more="[features]\nage = {}\n")
    with pytest.raises(FedclustError, match="the column does not exist$"):
        run_app(grid_of(tmp_path), for_machines(study))
