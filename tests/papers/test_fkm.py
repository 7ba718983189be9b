"""Garst, Reinders 2023 (FKM): the sixteen clusters of Fig. 1 and the noise of Fig. 3."""

from collections.abc import Callable

import numpy as np
import pytest

from fedclust import make, make_seeding
from fedclust.clustering.rows import cluster
from fedclust.core import AnyAlgorithm, Schema
from fedclust.datasets import Dataset, fkm_grid
from fedclust.kernels import inertia, k_means, nearest
from fedclust.metrics import adjusted_rand_index, client_mean

from .runs import channel

BETAS = (0.1, 1.0, 10.0)
Public = Callable[[str], Dataset]


def authors_set(public: Public, beta: float, noise: float = 1.0) -> Dataset:
    data = public("fkm_synthetic")
    here = (
        (data.extra["beta"] == beta)
        & (data.extra["points_per_cluster"] == 50)
        & (data.extra["noise"] == noise)
    )
    return Dataset("fkm", data.X[here], np.asarray(data.y)[here], np.asarray(data.client)[here])


def pooled(data: Dataset) -> float:
    centers = k_means(data.X, 16, np.random.default_rng(0), restarts=20)
    return adjusted_rand_index(data.y, nearest(data.X, centers)[0])


def scores(
    data: Dataset, algorithm: AnyAlgorithm, runs: int = 8, init: object = "auto"
) -> list[float]:
    """ARI of the pooled rows, by run."""
    clusterings = [
        cluster(algorithm, channel(data.X, data.client), Schema(2), seed=s, init=init)  # type: ignore[arg-type]
        for s in range(runs)
    ]
    return [adjusted_rand_index(data.y, nearest(data.X, one.centers)[0]) for one in clusterings]


@pytest.mark.parametrize("beta", BETAS)
def test_fig_1_as_good_as_pooling_and_above_k_fed(beta: float) -> None:
    data = fkm_grid(beta, random_state=2)
    fkm = np.mean(scores(data, make("fkm", 16)))
    assert abs(fkm - pooled(data)) < 0.02
    assert fkm > np.mean(scores(data, make("k-fed", 16, preset="reference"))) + 0.03
    assert fkm > np.mean(scores(data, make("k-fed", 16))) - 0.005


@pytest.mark.parametrize("beta", BETAS)
def test_fig_1_on_the_authors_files(public: Public, beta: float) -> None:
    """Authors: FKM .949 .958 .957, k-FED .690 .729 .852, central .955 (client-weighted ARI)."""
    data = authors_set(public, beta)
    assert pooled(data) == pytest.approx(0.955, abs=0.005)
    fkm = np.mean(scores(data, make("fkm", 16)))
    assert abs(fkm - pooled(data)) < 0.02
    k_fed = np.mean(scores(data, make("k-fed", 16, preset="reference"), runs=20))
    assert k_fed == pytest.approx({0.1: 0.690, 1.0: 0.729, 10.0: 0.852}[beta], abs=0.06)
    assert fkm > k_fed + 0.05


def test_the_best_inertia_of_the_authors_data(public: Public) -> None:
    data = authors_set(public, 0.1)
    centers = k_means(data.X, 16, np.random.default_rng(0), restarts=20)
    assert inertia(data.X, centers) == pytest.approx(1489.3, abs=0.1)


@pytest.mark.parametrize(("beta", "published"), [(0.1, 0.949), (1.0, 0.958), (10.0, 0.957)])
def test_the_reference_preset_gives_the_authors_numbers(
    public: Public, beta: float, published: float
) -> None:
    data = authors_set(public, beta)
    chosen = make("fkm", 16, preset="reference", max_rounds=20)
    start = make_seeding("fkm", 16, preset="reference")
    values = []
    for seed in range(6):
        clients = channel(data.X, data.client)
        at = cluster(chosen, clients, Schema(2), seed=seed, init=start).centers
        labels = nearest(data.X, at)[0]
        values.append(client_mean(adjusted_rand_index, data.y, labels, data.client))
    assert np.mean(values) == pytest.approx(published, abs=0.01)


@pytest.mark.parametrize(("generated", "loss"), [(True, 0.01), (False, 0.05)])
def test_weights_matter(public: Public, generated: bool, loss: float) -> None:
    """In the authors' ablation, no weights cost 0.11 at beta = 0.1."""
    data = fkm_grid(0.1, random_state=2) if generated else authors_set(public, 0.1)
    weighted, flat = (
        np.mean(scores(data, make("fkm", 16, weighted=flag, restarts=1, warm_start=False)))
        for flag in (True, False)
    )
    assert weighted > flat + loss


@pytest.mark.slow
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("noise", [1.1, 1.2, 1.3, 1.4, 1.5])
def test_fig_3_noise(public: Public, beta: float, noise: float) -> None:
    """FKM stays close to pooling as clusters blur; k-FED does not."""
    data = authors_set(public, beta, noise)
    central = {1.1: 0.924, 1.2: 0.888, 1.3: 0.840, 1.4: 0.785, 1.5: 0.725}[noise]
    assert pooled(data) == pytest.approx(central, abs=0.015)
    fkm = np.mean(scores(data, make("fkm", 16), runs=10))
    assert abs(fkm - central) < 0.05
    assert fkm > np.mean(scores(data, make("k-fed", 16, preset="reference"), runs=10)) + 0.03
