"""Over bytes and plans built from configuration, everything is what it is in one process."""

import importlib
import inspect
import pkgutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedclust
from fedclust.algorithms import ALGORITHMS, SEEDINGS, make, make_seeding
from fedclust.algorithms.bounded_c_means import BoundedCMeans
from fedclust.algorithms.cell_seeding import CellSeeding
from fedclust.algorithms.registry import PLANS, TRANSFORMS
from fedclust.algorithms.robust_c_means import RobustCMeans
from fedclust.channels import LocalChannel, RemoteChannel
from fedclust.clustering.choose_k.halves import HalfSeeding, HalvesCMeans, HalvesFuzzyCMeans
from fedclust.clustering.preparation import Histogram, MedianOfMeans, Moments
from fedclust.clustering.rows import cluster
from fedclust.core import Algorithm, AnyAlgorithm, Plan, Schema, TooFewClients, Transform, run
from fedclust.metrics import INDICES, ClientCounts, ClusterShapes, Contingency, Evaluation, Profile
from fedclust.privacy.key_exchange import KeyExchange
from fedclust.tiers import transforms_for

from .example import (
    PLAIN,
    InProcess,
    as_data,
    as_they_are,
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
        ClusterShapes(3, START, axes),
        ClientCounts(3, START, axes, low, high),
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


def test_a_plan_survives_as_configuration() -> None:
    """The same fields, arrays with their types included."""
    from fedclust.algorithms.registry import build_plan
    from fedclust.core.envelope import decode_plan, encode_plan

    for algorithm in plans():
        plan = Plan(algorithm, transforms_for(algorithm, 2, "paper"), seed=9)
        back = build_plan(decode_plan(encode_plan(plan)))
        assert type(back.algorithm) is type(algorithm)
        assert back.transforms == plan.transforms
        assert back.seed == 9
        for name, value in asdict(algorithm).items():  # type: ignore[call-overload]
            np.testing.assert_array_equal(getattr(back.algorithm, name), value)
