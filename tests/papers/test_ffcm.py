"""Stallmann, Wilbik 2022 (FFCM): Tables 2 to 4, from generated data."""

from collections.abc import Callable

import numpy as np
import pytest

from fedclust import make
from fedclust.core import Plan, Schema, run
from fedclust.datasets import Dataset, ffcm_case1, ffcm_case2, ffcm_case3
from fedclust.metrics import knowledge_gap, osse, wsse
from fedclust.typing import FloatArray

from .runs import channel, near, per_client

RUNS = 10
Row = dict[str, list[float]]  # gap, W, O over runs


def centers(key: str, data: Dataset, m: float, seed: int) -> FloatArray:
    k, rng = len(np.asarray(data.centers)), np.random.default_rng([seed, 1])
    if key == "central":  # their pooled baseline starts far away, at integers from 400 to 699
        init = rng.integers(400, 700, (k, 2)).astype(float)
        chosen = make("llf-fcm", k, init=init, fuzzifier=m, max_rounds=1000)
    else:
        chosen = make(
            key, k, preset="reference", init=rng.random((k, 2)), fuzzifier=m, max_rounds=100
        )
    model: FloatArray = run(Plan(chosen, seed=seed), channel(data.X, data.client), Schema(2)).model
    return model


def row(key: str, draw: Callable[[int], Dataset], m: float = 2.0, runs: int = RUNS) -> Row:
    """Gap to the nearest true centre (as in their code), within and outside error."""
    row: Row = {"gap": [], "W": [], "O": []}
    for seed in range(runs):
        data = draw(seed)
        at = centers(key, data, m, seed)
        row["gap"].append(knowledge_gap(at, data.centers, "nearest"))
        pooled = key == "central"
        row["W"].append(wsse(data.X, at) if pooled else per_client(wsse, data, at))
        row["O"].append(osse(data.X, at) if pooled else per_client(osse, data, at))
    return row


def mean(values: list[float]) -> float:
    return float(np.mean(values))


def test_table_2_case_1() -> None:
    central, avg1, avg2 = (row(key, ffcm_case1) for key in ("central", "ffcm-avg1", "ffcm-avg2"))
    assert near(central["W"], 0.3120)
    assert near(central["O"], 3.7070)
    assert near(avg1["W"], 0.3588)
    assert near(avg1["O"], 3.4078)
    assert near(avg2["W"], 0.3120)
    assert near(avg2["O"], 3.7041)
    third = np.array([1.34, 1.49])  # where their avg1 leaves the third centre
    found = centers("ffcm-avg1", ffcm_case1(0), 2.0, 0)
    assert np.linalg.norm(found - third, axis=1).min() < 0.2  # the true one is 0.83 away
    assert mean(avg2["gap"]) < 0.3 * mean(avg1["gap"])  # avg2 is the better of the two


def test_table_3_hidden_clusters() -> None:
    central, avg1, avg2 = (
        row(key, ffcm_case2, 1.1) for key in ("central", "ffcm-avg1", "ffcm-avg2")
    )
    for found, (gap, within, outside) in (
        (central, (1.47, 0.71, 8.57)),
        (avg1, (2.77, 0.73, 8.29)),
        (avg2, (1.25, 0.72, 8.55)),
    ):
        assert near(found["gap"], gap)
        assert near(found["W"], within)
        assert near(found["O"], outside)
    assert mean(avg2["gap"]) < mean(avg1["gap"])
    assert mean(avg2["W"]) < mean(avg1["W"])


PATTERNS: dict[tuple[int, int, int], dict[str, tuple[float, float | None, float]]] = {
    (100, 1000, 100): {"ffcm-avg1": (1.17, 1.88, 12.92), "ffcm-avg2": (0.12, 0.63, 17.18)},
    (100, 1000, 1000): {"ffcm-avg1": (3.88, None, 11.95), "ffcm-avg2": (0.08, 0.63, 17.21)},
    (1000, 100, 100): {"ffcm-avg1": (1.34, 2.28, 13.83), "ffcm-avg2": (0.10, 0.63, 17.18)},
    (1000, 1000, 1000): {"ffcm-avg1": (3.62, None, 11.69), "ffcm-avg2": (0.03, 0.62, 17.14)},
}
# None: avg1 does not converge there, and its error is that of the last round.


@pytest.mark.parametrize("sizes", list(PATTERNS))
def test_table_4_locally_absent_clusters(sizes: tuple[int, int, int]) -> None:
    found = {}
    for key, (gap, within, outside) in PATTERNS[sizes].items():
        runs = RUNS if within else 4  # runs are slow if avg1 does not converge
        found[key] = row(key, lambda seed: ffcm_case3(sizes, seed), runs=runs)
        assert near([g / 4 for g in found[key]["gap"]], gap, 0.15)
        # The authors' code gives 2.47, the paper 2.28, so a tenth is the expected difference.
        assert within is None or near(found[key]["W"], within, 0.1)
        assert near(found[key]["O"], outside, 0.1)
    assert mean(found["ffcm-avg2"]["gap"]) < 0.2 * mean(found["ffcm-avg1"]["gap"])
    assert mean(found["ffcm-avg2"]["W"]) < 0.5 * mean(found["ffcm-avg1"]["W"])


def test_table_4_the_balanced_set_pooled() -> None:
    central = row("central", lambda seed: ffcm_case3((1000, 1000, 1000), seed))
    assert near(central["W"], 0.63)
    assert near(central["O"], 17.14)
    assert mean(central["gap"]) / 4 < 0.1


def test_avg1_as_printed_does_not_fail() -> None:
    """One local step, supports with the power: lossless, whatever a client lacks."""
    data = ffcm_case3((1000, 1000, 1000), 0)
    init = np.random.default_rng(0).uniform(0, 10, (4, 2))
    both = [
        run(Plan(make(key, 4, init=init)), channel(data.X, data.client), Schema(2)).model
        for key in ("ffcm-avg1", "llf-fcm")
    ]
    np.testing.assert_allclose(both[0], both[1], atol=1e-9)
    assert knowledge_gap(both[0], data.centers) < 0.5


def test_errors_at_the_true_centres_are_what_theory_says() -> None:
    """Mean distance of a plane Gaussian from its mean, over two features: sqrt(pi / 2) / 2."""
    data = ffcm_case3((20_000, 20_000, 20_000), 1)
    assert wsse(data.X, data.centers) == pytest.approx(np.sqrt(np.pi / 2) / 2, rel=0.01)
    assert osse(data.X, data.centers) == pytest.approx(17.1, abs=0.05)
