"""Over bytes and plans built from configuration, everything is what it is in one process."""

import importlib
import inspect
import json
import pkgutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedclust
from fedclust.algorithms import ALGORITHMS, SEEDINGS, make, make_seeding
from fedclust.algorithms.bounded_c_means import BoundedCMeans
from fedclust.algorithms.cell_seeding import CellSeeding
from fedclust.algorithms.robust_c_means import RobustCMeans
from fedclust.chain import cluster
from fedclust.channels import LocalChannel, RemoteChannel
from fedclust.choice.halves import HalfSeeding, HalvesCMeans, HalvesFuzzyCMeans
from fedclust.core import Algorithm, AnyAlgorithm, Plan, Schema, TooFewClients, Transform, run
from fedclust.metrics import INDICES, Contingency, Evaluation, Outline, Presence, Profile
from fedclust.plans import PLANS, TRANSFORMS
from fedclust.preprocessing import Histogram, MedianOfMeans, Moments
from fedclust.privacy import transforms_for
from fedclust.privacy.keys import KeyExchange
from fedclust.study.file import Study, read_study
from fedclust.study.run import run_study

from .example import (
    NAMES,
    PLAIN,
    InProcess,
    as_data,
    as_they_are,
    reopened,
    run_across,
    told,
    write_kits,
)

SCHEMA = Schema(2, low=np.zeros(2), high=np.full(2, 25.0))
START = np.array([[1.0, 9.0], [4.0, 18.0], [8.0, 4.0]])


def plans() -> list[AnyAlgorithm]:
    clustering = [
        make(key, 3, init=START) if hasattr(make(key, 3), "init") else make(key, 3)
        for key in ALGORITHMS
    ]
    seeding = [make_seeding(key, 3) for key in SEEDINGS]
    scores = [Evaluation(3, START, index) for index in INDICES]
    axes, low, high = np.eye(2), np.zeros(2), np.full(2, 25.0)
    both = np.vstack([START, START + 1.0])
    others: list[Any] = [
        Evaluation(3, START, ("inertia", "davies-bouldin")),
        Contingency(3, START, START + 2.0),
        Profile(3, START, 2.0),
        Outline(3, START, axes),
        Presence(3, START, axes, low, high),
        HalfSeeding(3, second=True, split=4),
        HalvesCMeans(6, both, split=4),
        HalvesFuzzyCMeans(6, both, split=4),
        Moments(),
        MedianOfMeans(),
        Histogram(low, high),
        CellSeeding(3, low, high),
        BoundedCMeans(3, low, high, init=START),
        RobustCMeans(3, START),
    ]
    return [*clustering, *seeding, *scores, *others]


def test_all_that_can_be_asked_over_rows_is_tried_here() -> None:
    tried = {KeyExchange, *(type(algorithm) for algorithm in plans())}  # keys are new each time
    assert tried == {kind for kind in PLANS.values() if kind.partition == "horizontal"}


def test_every_algorithm_there_is_can_be_asked() -> None:
    """What a study runs must be known to clients: an algorithm that is not would stop there."""
    for module in pkgutil.walk_packages(fedclust.__path__, "fedclust.", lambda name: None):
        if not {"nvflare", "flower", "__main__"} & set(module.name.split(".")):
            importlib.import_module(module.name)
    found, more = set(), [Algorithm]
    while more:
        kind: Any = more.pop()
        more += kind.__subclasses__()
        if not inspect.isabstract(kind) and kind.__module__.startswith("fedclust."):
            found.add(kind)
    assert found == set(PLANS.values())


def test_every_transform_there_is_can_be_asked() -> None:
    found = {kind for kind in Transform.__subclasses__() if kind.__module__.startswith("fedclust.")}
    assert found == set(TRANSFORMS.values())


@pytest.mark.parametrize("privacy", ["none", "paper"])
@pytest.mark.parametrize(
    "algorithm", plans(), ids=lambda a: f"{type(a).__name__} {getattr(a, 'index', '')}"
)
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


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_masks_travel_and_the_sum_is_the_same_bits(key: str, tmp_path: Path) -> None:
    """Keys, rosters and grids as plain values: a site builds them itself."""
    wide, bounded = Schema(2, low=np.full(2, -9.0), high=np.full(2, 30.0)), as_they_are(-9, 30)
    here = cluster(make(key, 3), LocalChannel(as_data()), wide, privacy="secure", seed=3)
    remote = RemoteChannel(InProcess(write_kits(tmp_path)), about={"study": "s"})
    there = cluster(make(key, 3), remote.over(bounded, wide), wide, privacy="secure", seed=3)
    assert there.centers.tobytes() == here.centers.tobytes()
    noisy = cluster(make(key, 3), remote.over(bounded, wide), wide, privacy="secure+dp")
    assert noisy.centers.shape == (3, 2)


def test_who_lists_algorithms_lists_their_protected_kin(tmp_path: Path) -> None:
    for listed, answers in (("llf-cm", True), ("fkm", False)):
        sites = write_kits(tmp_path / listed, f'algorithms = ["{listed}"]')
        remote = RemoteChannel(InProcess(sites), about={"study": "s"}).over(PLAIN, SCHEMA)
        plan = Plan(BoundedCMeans(3, np.zeros(2), np.full(2, 25.0), init=START))
        if answers:
            run(plan, remote, SCHEMA)
        else:
            with pytest.raises(TooFewClients, match="does not list 'bounded-c-means'"):
                run(plan, remote, SCHEMA)


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
n_clusters = {k}
n_init = {n_init}

[privacy]
tier = "{tier}"

[outputs]
labels = "csv"
labels_in = "run"
report = false
"""


def write_study(
    folder: Path,
    algorithm: str = "llf-fcm",
    scaling: str = "standard",
    missing: str = "drop",
    k: str = "3",
    tier: str = "none",
    more: str = "",
    n_init: int = 2,
) -> Study:
    settings = {"algorithm": algorithm, "k": k, "n_init": n_init, "tier": tier}
    text = STUDY.format(scaling=scaling, missing=missing, **settings)
    (folder / "s.toml").write_text(text + more)
    return read_study(folder / "s.toml")


def for_machines(study: Study) -> Path:
    """The study's file without what only one process can do."""
    text = study.path.read_text()
    for line in ('id = "person"\n', 'labels = "csv"\n', 'labels_in = "run"\n'):
        text = text.replace(line, "")
    study.path.write_text(text)
    return study.path


@pytest.mark.parametrize(
    ("algorithm", "scaling", "missing", "k"),
    [
        ("llf-fcm", "standard", "drop", "3"),
        ("llf-cm", "min-max", "mean", '"auto"'),
        ("k-fed", "none", "median-of-means", "3"),
    ],
)
def test_a_study_across_machines_is_the_study_in_one_process(
    algorithm: str, scaling: str, missing: str, k: str, tmp_path: Path
) -> None:
    sites = write_kits(tmp_path)
    study = write_study(tmp_path, algorithm, scaling, missing, k)
    run_study(study, tmp_path / "here")
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    run_across(study, remote, tmp_path / "there")
    assert told(tmp_path / "there") == told(tmp_path / "here")
    for name in NAMES:
        mine = (tmp_path / name / "labels" / "s.csv").read_text()
        assert mine == (tmp_path / "here" / "labels" / f"{name}.csv").read_text()


def test_a_tier_that_client_and_study_agree_on_is_run(tmp_path: Path) -> None:
    sites = write_kits(tmp_path, 'privacy = "paper"')
    study = write_study(tmp_path, scaling="min-max", tier="paper")
    run_study(study, tmp_path / "here")
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    run_across(study, remote, tmp_path / "there")
    assert told(tmp_path / "there") == told(tmp_path / "here")


BOUNDS = "[features]\nheight = { low = -50, high = 50 }\nwidth = { low = -50, high = 50 }\n"


@pytest.mark.parametrize("demanded", ["none", "secure"])
def test_masked_studies_across_machines_are_masked_studies_in_one_process(
    tmp_path: Path, demanded: str
) -> None:
    pytest.importorskip("cryptography")
    sites = write_kits(tmp_path, f'privacy = "{demanded}"')
    settings = {"algorithm": "llf-cm", "scaling": "min-max", "tier": "secure", "more": BOUNDS}
    study = write_study(tmp_path, **settings, n_init=1)
    run_study(study, tmp_path / "here")
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    run_across(study, remote, tmp_path / "there")
    assert told(tmp_path / "there") == told(tmp_path / "here")
    ledger = (tmp_path / "west" / "ledger.jsonl").read_text().splitlines()
    assert all(json.loads(line)["event"] for line in ledger)


def test_a_client_can_demand_more_than_the_study_asks(tmp_path: Path) -> None:
    sites = write_kits(tmp_path, 'privacy = "secure"')
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    with pytest.raises(TooFewClients, match=r"privacy = \"secure\" \(masks\)"):
        run_across(write_study(tmp_path), remote, tmp_path / "run")


def test_the_ledger_outlives_runs(tmp_path: Path) -> None:
    """Another seed is another look at the same rows; the ten-starts attack ends at the cap."""
    sites = write_kits(tmp_path, "max_releases = 60")
    study = write_study(tmp_path, algorithm="llf-cm")

    def runs(sites: Any, seeds: range) -> None:
        remote = RemoteChannel(InProcess(sites), about={"study": "s"})
        for seed in seeds:
            again = replace(study, clustering={**study.clustering, "seed": seed})
            run_across(again, remote, tmp_path / f"run-{seed}")

    with pytest.raises(TooFewClients, match="questions, and 60 are allowed"):
        runs(sites, range(10))
    fresh = reopened(tmp_path, sites)  # a restart forgets nothing
    with pytest.raises(TooFewClients, match="questions, and 60 are allowed"):
        runs(fresh, range(77, 78))


def test_what_leaves_is_on_record_and_holds_no_row(tmp_path: Path) -> None:
    sites = write_kits(tmp_path)
    study = write_study(tmp_path)
    sent: list[bytes] = []

    def listen(number: int, client: str, answer: bytes) -> bytes:
        sent.append(answer)
        return answer

    transport = InProcess(sites, listen)
    remote = RemoteChannel(transport, about={"study": "s"})
    done = run_across(study, remote, tmp_path / "run")
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
