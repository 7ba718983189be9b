"""A plan that silences all clients but one inside the masks, and what clients say to it."""

from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError
from fedclust.algorithms import ALGORITHMS, make
from fedclust.algorithms.centers import Centers
from fedclust.algorithms.registry import build_plan
from fedclust.channels import LocalChannel
from fedclust.clustering.preparation.statistics import Histogram, Moments
from fedclust.core import Message, Plan, Request, Schema, Summed, Transform
from fedclust.core.codec import PlanConfig
from fedclust.metrics import Profile
from fedclust.privacy import (
    FixedPoint,
    GroupedRows,
    MinCount,
    MinSamples,
    PairwiseMasks,
    QueryLimit,
    SecureChannel,
)
from fedclust.tiers import tier_of
from fedclust.typing import FloatArray

from . import halfspaces
from .hostile import table_of
from .server import exact

pytest.importorskip("cryptography")

SIZES = {"a": 18, "b": 20, "c": 22, "d": 24, "victim": 40}


def clients(name: str) -> dict[str, FloatArray]:
    X, first, parts = table_of(name, sum(SIZES.values())), 0, {}
    for client, n in SIZES.items():
        parts[client] = X[first : first + n]
        first += n
    return parts


class Threshold:
    """A server that reads totals over the clients of at least `samples` rows."""

    def __init__(self, data: dict[str, FloatArray], samples: int) -> None:
        F = data["victim"].shape[1]
        self._schema = Schema(F, low=np.zeros(F), high=np.ones(F))
        self._channel = SecureChannel(LocalChannel(data, strict=True))
        self._transforms: tuple[Transform, ...] = (
            *((MinSamples(samples),) if samples else ()),
            FixedPoint.over(self._schema),
        )
        self._cohort = tuple(sorted(data))
        self._rounds = iter(range(10_000))

    def ask(self, centers: FloatArray) -> tuple[float, FloatArray] | None:
        plan = Plan(make("llf-cm", len(centers)), self._transforms)
        request = Request(next(self._rounds), self._cohort, Centers(centers))
        replies: list[Message] = [m for _, m in self._channel.ask(plan, request)]
        merged: Any = plan.algorithm.up.merge(replies)
        for transform in reversed(self._transforms):
            if isinstance(transform, FixedPoint):
                merged = merged.off_grid(transform.grid)
        return float(merged.weight[0]), merged.total[0]


@pytest.fixture
def unprotected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks as they were: they ask nothing about the other transforms."""
    monkeypatch.setattr(PairwiseMasks, "check_others", lambda self, transforms: None)


@pytest.mark.parametrize("name", ["iris", "diabetes", "digits", "blobs"])
@pytest.mark.usefixtures("unprotected")
def test_a_total_of_one_client_gives_its_records(name: str) -> None:
    data = clients(name)
    found = halfspaces.recovered(Threshold(data, samples=30).ask, data["victim"].shape[1], 60)
    assert exact(found, data["victim"]) >= 5


@pytest.mark.parametrize("name", ["iris", "diabetes", "digits", "blobs"])
def test_masks_refuse_to_be_asked_that(name: str) -> None:
    data = clients(name)
    with pytest.raises(ConfigError, match="MinSamples leaves out rows inside the masks"):
        Threshold(data, samples=30).ask(data["a"][:2])
    count, _ = Threshold(data, samples=0).ask(data["a"][:2]) or (0.0, None)
    assert 0 < count < sum(SIZES.values())


MASKS = PairwiseMasks("run", ())
BOX = FixedPoint((0.0, 0.0), (1.0, 1.0))


@pytest.mark.parametrize("other", [MinSamples(2), MinSamples(1), MinCount(2), GroupedRows(5)])
def test_whatever_leaves_out_rows_is_refused_beside_masks(other: Transform) -> None:
    with pytest.raises(ConfigError, match=f"{type(other).__name__} leaves out rows"):
        Plan(make("llf-cm", 2), (other, BOX, MASKS))
    config = PlanConfig(
        "CMeans", {"n_clusters": 2}, (("MinSamples", {"samples": 40}), *masked_config()), 0
    )
    with pytest.raises(ConfigError, match="MinSamples leaves out rows"):
        build_plan(config)  # as a client builds it
    Plan(make("llf-cm", 2), (QueryLimit(50), BOX, MASKS))


def masked_config() -> tuple[tuple[str, dict[str, Any]], ...]:
    box = {"low": [0.0, 0.0], "high": [1.0, 1.0]}
    return ("FixedPoint", box), ("PairwiseMasks", {"run": "run", "roster": []})


@pytest.mark.parametrize(
    "algorithm",
    [Moments(), Moments(min_count=2), Histogram(np.zeros(2), np.ones(2)), make("gdf-fcm", 2)],
)
def test_an_algorithm_that_leaves_out_clients_is_refused_too(algorithm: Any) -> None:
    with pytest.raises(ConfigError, match=r"min_count=\d leaves out clients"):
        Plan(algorithm, (MASKS,))


def test_the_tier_asks_for_totals_of_all_rows() -> None:
    schema = Schema(2, low=np.zeros(2), high=np.ones(2))
    for key, kind in ALGORITHMS.items():
        if issubclass(kind.up, Summed):
            ready = tier_of("secure").adapt(make(key, 3), schema, 5)
            Plan(ready, (BOX, MASKS))
            assert ready.parameter("min_count") in (None, 0, 1), "no client is left out"
    Plan(Moments(min_count=None), (MASKS,))
    Plan(Profile(2, np.zeros((2, 2))), (BOX, MASKS))
