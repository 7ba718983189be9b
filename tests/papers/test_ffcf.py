"""Urio-Larrea 2024 (FFCF): the poster's table."""

from collections.abc import Callable

import numpy as np
import pytest

from fedclust import make
from fedclust.core import Plan, Schema, run
from fedclust.datasets import Dataset, ffcm_case3
from fedclust.metrics import adjusted_rand_index, osse, wsse

from .runs import channel, near

TABLE = [
    (0, (1000, 1000, 1000), 0.6143, 17.1054),
    (1, (100, 1000, 100), 0.6205, 17.0467),
    (2, (100, 1000, 1000), 0.6161, 17.1102),
    (3, (1000, 100, 100), 0.6218, 17.0968),
]


@pytest.mark.parametrize(("config", "sizes", "within", "outside"), TABLE)
def test_the_posters_table_from_its_files(
    public: Callable[[str], Dataset],
    config: int,
    sizes: tuple[int, int, int],
    within: float,
    outside: float,
) -> None:
    """The output of the authors' script, which the poster truncates after two digits."""
    data = public("ffcf_case3")
    here = data.extra["config"] == config
    X, owner, y = data.X[here], np.asarray(data.client)[here], np.asarray(data.y)[here]
    assert tuple(np.bincount(owner)) == sizes
    done = run(Plan(make("ffcf", 4, preset="reference")), channel(X, owner), Schema(2))
    assert done.n_rounds == 1
    assert round(wsse(X, done.model), 4) == within
    assert round(osse(X, done.model), 4) == outside
    from fedclust.kernels import nearest

    assert adjusted_rand_index(y, nearest(X, done.model)[0]) > 0.99


@pytest.mark.parametrize(("config", "sizes", "within", "outside"), TABLE)
def test_the_default_does_as_well_on_generated_data(
    config: int, sizes: tuple[int, int, int], within: float, outside: float
) -> None:
    errors = []
    for seed in range(5):
        data = ffcm_case3(sizes, seed)
        done = run(Plan(make("ffcf", 4), seed=seed), channel(data.X, data.client), Schema(2))
        errors.append((wsse(data.X, done.model), osse(data.X, done.model)))
    assert near([w for w, _ in errors], within, 0.03)
    assert near([o for _, o in errors], outside, 0.03)


def test_one_round_instead_of_several() -> None:
    data = ffcm_case3((100, 1000, 100), 1)
    clients = channel(data.X, data.client)
    init = np.random.default_rng(0).random((4, 2))
    avg2 = run(Plan(make("ffcm-avg2", 4, preset="reference", init=init)), clients, Schema(2))
    assert run(Plan(make("ffcf", 4)), clients, Schema(2)).n_rounds == 1 < avg2.n_rounds


def test_no_mass_is_lost_in_many_dimensions() -> None:
    """The published variant keeps a fraction of 16-dimensional data; the default keeps all."""
    rng = np.random.default_rng(0)
    X = rng.normal(rng.uniform(0, 1, (10, 16))[rng.integers(0, 10, 1500)], 0.1)
    mass = {}
    for preset in ("default", "reference"):
        chosen = make("ffcf", 10, preset=preset)
        plan = Plan(chosen, seed=1)
        from fedclust.core import Data

        state = chosen.start(Schema(16), plan.rng("server", -1))
        sent = chosen.client_step(chosen.broadcast(state), Data.of(X), plan.rng("a", 0))
        mass[preset] = sent.mass.sum()
    assert mass["default"] == pytest.approx(1500)
    assert mass["reference"] < 0.4 * 1005
