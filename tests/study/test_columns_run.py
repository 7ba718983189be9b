"""From a submitted study over split columns to its folder: who is asked, and who is waited for."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fedclust.client.config import read_client_config
from fedclust.deploy.coordinator import _count_clients_if_waiting
from fedclust.deploy.job import StudyJob
from fedclust.study.layouts import layout_of
from fedclust.study.read import read_study, resolve_tier
from fedclust.study.run import run_study

from ..support.in_process import InProcess
from ..support.owners_in_process import (
    NONE,
    OWNERS,
    SECRET,
    reopened,
    results_of,
    write_owners,
    write_study,
)


def test_a_job_runs_the_study_and_says_how_it_ended(tmp_path: Path) -> None:
    sites = write_owners(tmp_path)
    study = write_study(tmp_path, more=NONE)
    arguments: dict[str, Any] = {
        "study": str(study.path),
        "folder": str(tmp_path / "run"),
        "work": str(tmp_path),
        "run": "r",
        "deadline": 1.0,
        "force": False,
        "resume": False,
    }
    StudyJob(**arguments).run(InProcess(sites), tuple(OWNERS))
    assert json.loads((tmp_path / "outcome.json").read_text()) == {"done": True}
    run_study(study, tmp_path / "here", secret=SECRET)
    assert results_of(tmp_path / "run") == results_of(tmp_path / "here")
    two = {name: site for name, site in reopened(tmp_path).items() if name != "shop"}
    StudyJob(**{**arguments, "folder": str(tmp_path / "two")}).run(InProcess(two), tuple(two))
    outcome = json.loads((tmp_path / "outcome.json").read_text())
    assert outcome["again"]
    assert "shop cannot take part" in outcome["error"]


def test_owners_that_a_study_lists_are_asked_and_waited_for_by_name(tmp_path: Path) -> None:
    write_owners(tmp_path)
    study = write_study(tmp_path, more=NONE)
    assert study.sampling.min_clients == 3
    layout = layout_of(study)
    assert layout.select_clients(["bank", "other", "shop"]) == ["bank", "shop"]
    assert layout.describe_absent(["bank", "telecom"]).endswith("but shop did not connect")
    assert layout.describe_absent(["bank", "shop", "telecom"]) == ""
    (words,) = layout.notices(resolve_tier(study, "secure"))
    assert "must be trusted with geometry" in words


def test_studies_of_rows_are_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    path.write_text('[clients]\na = "a.csv"\n[clustering]\nalgorithm = "llf-cm"\nn_clusters = 2\n')
    study = read_study(path)
    assert study.sampling.min_clients == 1
    layout = layout_of(study)
    assert layout.select_clients(["a", "b"]) == ["a"], "the study names its clients"
    assert layout.describe_absent([]) == ""
    assert layout.notices(resolve_tier(study, "none")) == []


class Session:
    """How a job stands, and who is there."""

    def __init__(self, state: str, there: int) -> None:
        self.state, self.there = state, there

    def status(self, id: str) -> str:
        return self.state

    def clients(self) -> list[str]:
        return list("abcdef")[: self.there]


@pytest.mark.parametrize(
    ("state", "there", "left"),
    [("SUBMITTED", 2, 2), ("SUBMITTED", 3, None), ("RUNNING", 2, None)],
)
def test_a_job_that_waits_for_those_who_left_is_noticed(
    state: str, there: int, left: int | None
) -> None:
    assert _count_clients_if_waiting(Session(state, there), "1", 3) == left


def test_the_client_file_that_the_documentation_shows_can_be_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "vertical.md").read_text()
    found = re.search(r"```toml client\n(.*?)```", page, re.DOTALL)
    assert found
    (tmp_path / "client.toml").write_text(found[1])
    shown = read_client_config(tmp_path / "client.toml")
    assert shown.consent.split_columns
    assert shown.data.secret


def test_over_flower_split_columns_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("flwr")
    from fedclust.core import ConfigError
    from fedclust.deploy.flower.server import run_over

    write_owners(tmp_path)
    study = write_study(tmp_path, more=NONE)
    nobody: Any = None
    with pytest.raises(ConfigError, match="run it over NVFlare"):
        run_over(nobody, {"study": str(study.path)})


def test_owners_write_no_labels_if_the_study_wants_none(tmp_path: Path) -> None:
    sites = write_owners(tmp_path)
    study = write_study(tmp_path, more=NONE)
    study.path.write_text(study.path.read_text().replace('labels = "csv"', 'labels = "none"'))
    run = StudyJob(str(study.path), str(tmp_path / "run"), str(tmp_path), "r", 1.0, False, False)
    run.run(InProcess(sites), tuple(OWNERS))
    assert json.loads((tmp_path / "outcome.json").read_text()) == {"done": True}
    for owner in OWNERS:
        (centers,) = (tmp_path / owner / "labels").iterdir()
        assert centers.name.endswith(".centers.json")
