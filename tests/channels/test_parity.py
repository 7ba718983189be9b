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
from fedclust.algorithms import make
from fedclust.algorithms.bounded_c_means import BoundedCMeans
from fedclust.algorithms.mixture import Mixture
from fedclust.algorithms.mixture_fit import MixtureFit
from fedclust.algorithms.partial import PartialCMeans
from fedclust.algorithms.prototypes import PartialPrototypes
from fedclust.algorithms.registry import PLANS, TRANSFORMS
from fedclust.channels import LocalChannel, RemoteChannel
from fedclust.clustering.choose_k.halves import HalvesPartialCMeans
from fedclust.clustering.preparation.extremes import Extremes
from fedclust.clustering.rows import cluster
from fedclust.clustering.summary.cells import CellMicroQuery
from fedclust.core import (
    Algorithm,
    AnyAlgorithm,
    ConfigError,
    Plan,
    Schema,
    TooFewClients,
    Transform,
    run,
)
from fedclust.privacy.key_exchange import KeyExchange
from fedclust.tiers import transforms_for

from ..support.in_process import (
    PLAIN,
    InProcess,
    as_data,
    as_they_are,
    write_kits,
)
from ..support.plans import SCHEMA, START, plans

# Their sums have no number of records for each cluster, by which small clusters could be left out.
REFUSED_BY_PAPER = {
    CellMicroQuery,
    Mixture,
    MixtureFit,
    PartialCMeans,
    PartialPrototypes,
    HalvesPartialCMeans,
}


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
    # Extremes are for transformers in one process only: across machines no client answers them.
    assert found - {Extremes} == set(PLANS.values())


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
    if privacy == "paper" and type(algorithm) in REFUSED_BY_PAPER:
        with pytest.raises(ConfigError, match="few rows show these rows|does not say how many"):
            Plan(algorithm, transforms_for(algorithm, 2, privacy))
        return
    plan = Plan(algorithm, transforms_for(algorithm, 2, privacy), seed=5)
    here = run(plan, LocalChannel(as_data()), SCHEMA)
    remote = RemoteChannel(InProcess(write_kits(tmp_path)), about={"study": "s"})
    rows = as_they_are(-9, 30) if algorithm.traits.bounded else PLAIN
    there = run(plan, remote.over(rows, SCHEMA), SCHEMA)
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
        rows = as_they_are(-9, 30)
        remote = RemoteChannel(InProcess(sites), about={"study": "s"}).over(rows, SCHEMA)
        plan = Plan(BoundedCMeans(3, np.zeros(2), np.full(2, 25.0), init=START))
        if answers:
            run(plan, remote, SCHEMA)
        else:
            with pytest.raises(TooFewClients, match="does not list 'bounded-c-means'"):
                run(plan, remote, SCHEMA)


def test_a_plan_survives_as_configuration() -> None:
    """The same fields, arrays with their types included."""
    from fedclust.algorithms.registry import build_plan
    from fedclust.core.codec import decode_plan, encode_plan

    for algorithm in plans():
        privacy = "none" if type(algorithm) in REFUSED_BY_PAPER else "paper"
        plan = Plan(algorithm, transforms_for(algorithm, 2, privacy), seed=9)
        back = build_plan(decode_plan(encode_plan(plan)))
        assert type(back.algorithm) is type(algorithm)
        assert back.transforms == plan.transforms
        assert back.seed == 9
        for name, value in asdict(algorithm).items():  # type: ignore[call-overload]
            np.testing.assert_array_equal(getattr(back.algorithm, name), value)
