"""Over bytes and plans built from configuration, everything is what it is in one process."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import ALGORITHMS, SEEDINGS, make, make_seeding
from fedclust.channels import LocalChannel, RemoteChannel
from fedclust.core import AnyAlgorithm, Plan, Schema, run
from fedclust.federation.study import run_across
from fedclust.metrics import INDICES, Evaluation
from fedclust.metrics.sizes import ClusterSizes
from fedclust.preprocessing import Histogram, MedianOfMeans, Moments
from fedclust.privacy import transforms_for
from fedclust.study.file import read_study
from fedclust.study.run import run_study

from .example import NAMES, PLAIN, InProcess, as_data, write_kits

SCHEMA = Schema(2, low=np.zeros(2), high=np.full(2, 25.0))
START = np.array([[1.0, 9.0], [4.0, 18.0], [8.0, 4.0]])


def plans() -> list[AnyAlgorithm]:
    clustering = [
        make(key, 3, init=START) if hasattr(make(key, 3), "init") else make(key, 3)
        for key in ALGORITHMS
    ]
    seeding = [make_seeding(key, 3) for key in SEEDINGS if key not in ALGORITHMS]
    scores = [Evaluation(3, START, index) for index in INDICES]
    others: list[Any] = [
        ClusterSizes(3, START),
        ClusterSizes(3, START, 2.0),
        Moments(),
        MedianOfMeans(),
    ]
    return [*clustering, *seeding, *scores, *others, Histogram(np.zeros(2), np.full(2, 25.0))]


@pytest.mark.parametrize("privacy", ["none", "paper"])
@pytest.mark.parametrize("algorithm", plans(), ids=lambda a: getattr(a, "index", a.key))
def test_every_plan_gives_the_same_bits(
    algorithm: AnyAlgorithm, privacy: str, tmp_path: Path
) -> None:
    plan = Plan(algorithm, transforms_for(algorithm, 2, privacy), seed=5)
    here = run(plan, LocalChannel(as_data()), SCHEMA)
    remote = RemoteChannel(InProcess(write_kits(tmp_path)), about={"study": "s"})
    there = run(plan, remote.over(PLAIN, SCHEMA), SCHEMA)
    assert [a.tobytes() for a in there.state.arrays().values()] == [
        a.tobytes() for a in here.state.arrays().values()
    ]
    assert str(there.history) == str(here.history)
    assert there.sent == here.sent


STUDY = """
[clients]
north = "north/people.csv"
south = "south/people.csv"
west = "west/people.csv"

[data]
id = "person"
scaling = "{scaling}"
missing = "{missing}"

[clustering]
algorithm = "{algorithm}"
n_clusters = 3
n_init = 2
"""


@pytest.mark.parametrize(
    ("algorithm", "scaling", "missing"),
    [
        ("llf-fcm", "standard", "drop"),
        ("llf-cm", "min-max", "mean"),
        ("k-fed", "none", "median-of-means"),
    ],
)
def test_a_study_across_machines_is_the_study_in_one_process(
    algorithm: str, scaling: str, missing: str, tmp_path: Path
) -> None:
    sites = write_kits(tmp_path)
    (tmp_path / "s.toml").write_text(
        STUDY.format(algorithm=algorithm, scaling=scaling, missing=missing)
    )
    here = run_study(read_study(tmp_path / "s.toml"), tmp_path / "here")
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    there = run_across(read_study(tmp_path / "s.toml", files=False), remote, tmp_path / "there")
    assert there.centers.tobytes() == here.centers.tobytes()
    for file in ("model.json", "history.jsonl", "study.toml"):
        assert (tmp_path / "there" / file).read_text() == (tmp_path / "here" / file).read_text()
    for name in NAMES:
        mine = (tmp_path / name / "labels" / "s.csv").read_text()
        assert mine == (tmp_path / "here" / "labels" / f"{name}.csv").read_text()


def test_a_tier_that_client_and_study_agree_on_is_run(tmp_path: Path) -> None:
    sites = write_kits(tmp_path, 'privacy = "paper"')
    text = STUDY.format(algorithm="llf-fcm", scaling="min-max", missing="drop")
    (tmp_path / "s.toml").write_text(text + '[privacy]\ntier = "paper"\n')
    study = read_study(tmp_path / "s.toml")
    here = run_study(study, tmp_path / "here")
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    there = run_across(study, remote, tmp_path / "there")
    assert there.centers.tobytes() == here.centers.tobytes()


def test_what_leaves_is_on_record_and_holds_no_row(tmp_path: Path) -> None:
    sites = write_kits(tmp_path)
    (tmp_path / "s.toml").write_text(
        STUDY.format(algorithm="llf-fcm", scaling="standard", missing="drop")
    )
    sent: list[bytes] = []

    def listen(number: int, client: str, answer: bytes) -> bytes:
        sent.append(answer)
        return answer

    transport = InProcess(sites, listen)
    done = run_across(
        read_study(tmp_path / "s.toml"),
        RemoteChannel(transport, about={"study": "s"}),
        tmp_path / "run",
    )
    lines = [
        json.loads(line)
        for name in NAMES
        for line in (tmp_path / name / "disclosures.jsonl").read_text().splitlines()
    ]
    assert len(lines) == len(sent) == len(transport.asked) * len(NAMES)
    assert {line["bytes"] for line in lines} == {len(raw) for raw in sent}
    assert {line["to"] for line in lines} == {"coordinator"}
    assert {line["kind"] for line in lines} == {"look", "round", "label"}
    rounds = [line for line in lines if line.get("plan") == "llf-fcm"]
    assert rounds[0]["what"] == {"weight": [3], "total": [3, 2]}
    assert len(rounds) >= done.clustering.run.n_rounds * len(NAMES)
    assert not any(b"north0" in raw for raw in sent)  # no id


def test_a_plan_survives_as_configuration() -> None:
    """The same fields, arrays with their types included."""
    from fedclust.core.envelope import describe, described
    from fedclust.plans import build_plan

    for algorithm in plans():
        plan = Plan(algorithm, transforms_for(algorithm, 2, "paper"), seed=9)
        back = build_plan(described(describe(plan)))
        assert type(back.algorithm) is type(algorithm)
        assert back.transforms == plan.transforms
        assert back.seed == 9
        for name, value in asdict(algorithm).items():  # type: ignore[call-overload]
            np.testing.assert_array_equal(getattr(back.algorithm, name), value)
