"""The lines of a run's progress, from those who write them to what a page says of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedclust.core import ConfigError, FedclustError
from fedclust.progress import ProgressLog, RunState, Standing, federation_folder, unfinished_folder
from fedclust.progress.follow import Follower
from fedclust.study import read_study, run_study
from fedclust.study.progress import find_plane
from fedclust.watch.run import RunWatch, find_headline
from fedclust.watch.sources import open_source
from fedclust.watch.view import Tone, View

from .lines import FakeRun

STUDY = """
[clients]
north = "north.csv"
south = "south.csv"
[clustering]
algorithm = "{algorithm}"
n_clusters = 2
[features]
x = {{ low = 0, high = 10 }}
y = {{ low = 0, high = 10 }}
[privacy]
tier = "{tier}"
[outputs]
report = false
"""


def write_study(folder: Path, tier: str = "none", algorithm: str = "llf-cm") -> Path:
    rng = np.random.default_rng(0)
    for name, centre in (("north", 2), ("south", 8)):
        rows = np.clip(rng.normal(centre, 1, (60, 2)), 0, 10)
        np.savetxt(folder / f"{name}.csv", rows, header="x,y", delimiter=",", comments="")
    (folder / "s.toml").write_text(STUDY.format(tier=tier, algorithm=algorithm))
    return folder / "s.toml"


def look(run: FakeRun) -> View:
    return RunWatch(run.folder).look()


def rows(view: View) -> dict[str, str]:
    return {row.name: row.standing for row in view.clients}


def facts(view: View) -> dict[str, str]:
    return {fact.name: f"{fact.value} {fact.note}".strip() for fact in view.facts}


def test_the_page_names_the_client_that_is_waited_for(tmp_path: Path) -> None:
    run = FakeRun(tmp_path / "run")
    run.ask()
    run.end_round()
    run.ask(ago=40, answers=["Basel", "Zürich"])
    view = look(run)
    assert view.headline.text == "Waiting for Bern"
    assert view.headline.more == "2 of 3 clients have answered"
    assert view.headline.tone is Tone.WAITING
    assert rows(view) == {"Bern": "waiting", "Basel": "answered", "Zürich": "answered"}
    assert facts(view)["queries so far"].startswith("1 of at most 50")
    assert {row.bytes for row in view.clients} == {"512 B"}


def test_no_time_is_left_while_a_client_is_silent(tmp_path: Path) -> None:
    run = FakeRun(tmp_path / "run")
    for ago in (43, 42, 41):
        run.ask(ago)
        run.end_round(ago)
    run.ask(ago=40, answers=["Basel", "Zürich"])
    assert "time left" in facts(look(run))
    run.write(incident={"client": "Bern", "plan": "llf-cm", "round": 3, "what": "no sign of life"})
    run.write(asked={"clients": ["Bern"], "kind": "llf-cm", "number": 3})
    assert rows(look(run))["Bern"] == "waiting"
    assert "time left" not in facts(look(run))


def test_a_request_that_is_repeated_has_been_open_since_it_was_first_sent(tmp_path: Path) -> None:
    run = FakeRun(tmp_path / "run")
    run.ask(ago=90, answers=["Basel"])
    first = look(run).headline.since
    run.write(asked={"clients": ["Bern"], "kind": "llf-cm", "number": 0})
    assert look(run).headline.since == first


def test_owners_clients_and_reasons_are_named(tmp_path: Path) -> None:
    run = FakeRun(tmp_path / "run")
    assert look(run).headline.text == "Waiting for Basel, Bern and Zürich to connect"
    run.write(connected=["Bern", "Basel"])
    assert rows(look(run))["Zürich"] == "not connected"
    run.write(waiting=["Basel"])
    assert look(run).headline.text == "Waiting for the approval of the owner of Basel"
    run.write(waiting=[])
    run.write(connected=run.names)
    run.write(incident={"client": "Bern", "plan": "preflight", "round": 0, "what": "no answer"})
    view = look(run)
    assert rows(view) == {"Bern": "left out", "Basel": "connected", "Zürich": "connected"}
    assert next(row.why for row in view.clients if row.name == "Bern") == "no answer"
    assert view.warnings[0][1] == "Bern: no answer (preflight, round 1)"
    run.ask(answers=["Bern", "Basel", "Zürich"])
    assert rows(look(run))["Bern"] == "answered"


@pytest.mark.parametrize(("how", "tone"), [("failed", Tone.ALARM), ("stopped", Tone.WAITING)])
def test_a_run_that_ends_early_says_why(tmp_path: Path, how: str, tone: Tone) -> None:
    run = FakeRun(tmp_path / "run")
    run.ask(answers=[])
    run.write(end={"how": how, "text": "2 of 3 clients answered"})
    view = look(run)
    assert view.headline.text.startswith("2 of 3 clients answered.")
    assert view.headline.tone is tone
    assert set(rows(view).values()) == {"had not answered"}
    run.write(begin={"replays": True})
    assert look(run).headline.tone is not Tone.ALARM


def test_a_process_that_was_killed_is_noticed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    run = FakeRun(tmp_path / "run", process=gone.pid)
    assert "is gone" in look(run).headline.text


def test_what_later_versions_add_and_what_is_broken_is_passed_over(tmp_path: Path) -> None:
    run = FakeRun(tmp_path / "run")
    run.write(something="new")
    with open(run.path, "ab") as file:
        file.write(b'[1]\n{"when": 3, "incident": 4}\nno json\n{"when": "x", "answer"')
    run.end_round()  # completes the broken line
    run.ask(answers=["Bern"])
    assert rows(look(run))["Bern"] == "answered"


def test_records_that_owners_share_are_counted_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for owner in ("bank", "clinic"):
        lines = [f"p{i:03d},{x}" for i, x in enumerate(rng.normal(rng.choice([0, 9], 60)))]
        (tmp_path / f"{owner}.csv").write_text("\n".join([f"id,of {owner}", *lines]) + "\n")
    study = tmp_path / "s.toml"
    study.write_text(
        '[clients]\nbank = "bank.csv"\nclinic = "clinic.csv"\n'
        '[clustering]\nalgorithm = "lossless"\nn_clusters = 2\n'
        '[data]\nsplit = "columns"\nid = "id"\n'
        '[features]\n"of bank" = {}\n"of clinic" = {}\n'
    )
    run_study(read_study(study), tmp_path / "run")
    text = RunWatch(tmp_path / "run").look().headline.text
    assert text.startswith("Finished: 2 clusters of the 60 records of 2 clients")


def test_a_study_in_one_process_can_be_watched_from_its_first_round(tmp_path: Path) -> None:
    study, folder, views = read_study(write_study(tmp_path)), tmp_path / "run", []
    watch = RunWatch(folder)
    run_study(study, folder, on_round=lambda *round: views.append(watch.look()))
    phases = [facts(view)["phase"].split()[0] for view in views]
    assert list(dict.fromkeys(phases)) == ["scaling", "choosing", "clustering", "describing"] or {
        "scaling",
        "clustering",
    } <= set(phases)
    clustering = next(v for v in views if facts(v)["phase"].startswith("clustering llf-cm"))
    assert clustering.trail
    assert len(clustering.trail[0]) == 2
    assert not (folder / "progress.jsonl").exists()
    done = watch.look()
    assert done.headline.text.startswith("Finished: 2 clusters of 120 rows of 2 clients")
    assert done.headline.tone is Tone.DONE
    assert done.ids


def test_epsilon_grows_with_every_noisy_round(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    study, folder, spent = read_study(write_study(tmp_path, "dp")), tmp_path / "run", []
    watch = RunWatch(folder)
    run_study(study, folder, on_round=lambda *round: spent.append(watch._state.epsilon))
    watch.look()
    seen = [epsilon for epsilon in spent if epsilon]
    assert seen == sorted(seen)


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    study, folder = read_study(write_study(tmp_path)), tmp_path / "run"

    def stop(*round: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study, folder, on_round=stop)
    assert "--resume" in RunWatch(folder).look().headline.text

    def fail(*round: object) -> None:
        raise FedclustError("too few clients")

    with pytest.raises(FedclustError):
        run_study(study, folder, on_round=fail, force=True)
    assert RunWatch(folder).look().headline.text == "Too few clients."

    def break_down(*round: object) -> None:
        raise ZeroDivisionError("a value of a row")

    with pytest.raises(ZeroDivisionError):
        run_study(study, folder, on_round=break_down, force=True)
    assert RunWatch(folder).look().headline.text == "An unexpected error: ZeroDivisionError."


def test_a_log_that_cannot_be_written_does_not_end_the_run(tmp_path: Path) -> None:
    ProgressLog(tmp_path / "absent" / "progress.jsonl").answered("Bern")
    assert list(tmp_path.iterdir()) == [], "nothing was written, and no error was raised"


def test_a_replaced_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_text('{"a": 1}\n')
    follower = Follower(file)
    assert follower.restarts()
    assert list(follower.read_new()) == [{"a": 1}]
    other = tmp_path / "g.jsonl"
    other.write_text('{"b": 2}\n{"c"')
    os.replace(other, file)
    assert follower.restarts()
    assert list(follower.read_new()) == [{"b": 2}]
    assert not follower.restarts()
    file.unlink()
    assert not follower.restarts()
    assert list(follower.read_new()) == []


def test_long_runs_stay_small() -> None:
    state = RunState()
    for number in range(2000):
        places = [[float(number), 0.0]]
        line = {"phase": "clustering", "plan": "a", "round": number, "shift": 1.0}
        state.take({"when": "2026-01-01T00:00:00+00:00", "places": places, **line})
    assert len(state.trail) <= 160
    assert len(state.shifts) <= 320
    assert state.trail[-1] == [[1999.0, 0.0]]


def test_planes_of_few_columns_and_few_centres() -> None:
    assert find_plane(np.ones((3, 1))).tolist() == [[1.0, 0.0]]
    assert find_plane(np.array([[1.0, 2.0, 3.0]])).shape == (3, 2)


def test_a_path_is_a_study_a_run_kits_or_a_kit(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to watch"):
        open_source(tmp_path)
    study = write_study(tmp_path)
    assert "No run has begun" in open_source(study).look().headline.text
    run = FakeRun(tmp_path / "s-run")
    assert open_source(study).look().title == "heart"
    assert open_source(run.folder).look().title == "heart"
    admin = tmp_path / "kits" / "admin"
    admin.mkdir(parents=True)
    kits = open_source(tmp_path / "kits")
    assert "No study is running" in kits.look().headline.text
    work = str(federation_folder(run.folder))
    (admin / "running.json").write_text(json.dumps({"work": work}))
    assert kits.look().title == "heart"
    (admin / "running.json").unlink()
    assert kits.look().title == "heart"


def test_damaged_results_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "model.json").write_text("{}")
    view = RunWatch(folder).look()
    assert view.headline.tone is Tone.ALARM
    assert "cannot be read" in view.headline.text


def test_the_server_at_work_is_no_wait() -> None:
    state = RunState()
    state.take({"when": "x", "begin": {"clients": ["a"]}})
    state.take({"when": "x", "asked": {"clients": ["a"], "kind": "k", "number": 0}})
    state.take({"when": "x", "answer": "a"})
    assert (
        find_headline(state).text == "All clients that were asked have answered; the server is busy"
    )
    assert state.clients["a"].standing is Standing.ANSWERED
    assert find_headline(state).tone is Tone.CALM
    assert unfinished_folder(Path("/x/run")).name == ".run.unfinished"
