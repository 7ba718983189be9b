"""The summary under differential privacy: noise is paid once, for micro-clusters.

Cells find the places of the micro-clusters, and one round of clipped sums their weights and means.
Everything after that is computed from noisy numbers, which costs nothing more. Squares and borders
are not asked for: spreads are guessed from the distances between micro-clusters.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...algorithms import make
from ...algorithms.bounded_c_means import CubeState
from ...core import (
    ALL_CLIENTS,
    AnyAlgorithm,
    Channel,
    ClientSampling,
    ConfigError,
    Run,
    Runner,
    Schema,
    derive_seed,
    run,
)
from ...kernels import sq_distances
from ...tiers import Tier
from ...typing import FloatArray
from ..rows import Clustering, run_seeding
from .search import assign, find_centers
from .value import DataSummary

MICRO = 60  # micro-clusters
_SURE = 6.0  # standard deviations of the noise from which a weight counts
_LIKELY = 3.0  # from which it counts together with others nearby


@dataclass(frozen=True, eq=False)
class NoisySummary:
    """The summary, and the runs that paid for it."""

    summary: DataSummary
    run: Run  # of the micro-clusters
    start: tuple[Run, ...]  # of their places
    schema: Schema
    tier: Tier

    def cluster(self, requested: AnyAlgorithm) -> Clustering:
        """The clusters of the summary, as an algorithm of bounded influence would report them."""
        n_clients = max((line.n_clients for line in self.run.history), default=1)
        k = requested.n_clusters
        fuzzifier = requested.parameter("fuzzifier") if requested.soft else None
        centers = find_centers(self.summary, k, fuzzifier)
        adapted = self.tier.adapt(requested, self.schema, n_clients)
        algorithm = replace(adapted, init=centers)  # type: ignore[type-var]
        weight = np.bincount(assign(self.summary, centers), self.summary.weight, k).astype(float)
        places = algorithm.in_cube(centers)  # type: ignore[attr-defined]
        state = CubeState(places, (weight > 0).astype(float), weight, 1, 0.0)
        done = replace(self.run, algorithm=algorithm, state=state)
        sent = dict(self.run.sent)
        for part in self.start:
            for client, size in part.sent.items():
                sent[client] = sent.get(client, 0) + size
        before = sum(part.n_rounds for part in self.start)
        return Clustering(algorithm, done, float("nan"), sent, self.tier.guarantee, before)


def learn_noisy(
    channel: Channel,
    schema: Schema,
    tier: Tier,
    runner: Runner = run,
    *,
    sampling: ClientSampling = ALL_CLIENTS,
    seed: int = 0,
) -> NoisySummary:
    """The summary under a tier that adds noise; a refusal if the noise hides the rows."""
    ready, start = run_seeding(
        make("llf-cm", MICRO),
        channel,
        schema,
        privacy=tier,
        sampling=sampling,
        seed=derive_seed(seed, "seeding", 0),
        runner=runner,
    )
    plan = tier.plan(ready, channel, schema, derive_seed(seed, "summary", 0))
    done = runner(plan, channel, schema, sampling=sampling)
    state: CubeState = done.state
    noise = 2.0 * np.sqrt(1.25) * float(ready.parameter("noise"))
    centers, weight = _drop_noise(ready.model(state), state.weight, noise)
    if len(centers) < 4:
        raise ConfigError(
            "the noise hides the rows, so no number of clusters can be chosen; use more rows, a "
            "larger epsilon, or a number of clusters (see fedclust budget)"
        )
    queries = done.n_rounds + sum(part.n_rounds for part in start)
    square = _guess_squares(centers, weight)
    borders = np.zeros((len(centers), len(centers)))
    summary = DataSummary(centers, weight, square, borders, queries, noise)
    return NoisySummary(summary, done, tuple(start), schema, tier)


def _drop_noise(
    centers: FloatArray, weight: FloatArray, noise: float
) -> tuple[FloatArray, FloatArray]:
    """The micro-clusters that are surely not noise, and merged ones that are not together.

    The noise of n merged weights is that of one times the root of n. Light micro-clusters merge
    with light ones that are nearer than any heavy one; a lone one beside a heavy one is dropped.
    """
    heavy = weight > max(1.0, _SURE * noise)
    light = ~heavy & (weight > max(1.0, _LIKELY * noise))
    near: FloatArray = sq_distances(centers[light], centers[heavy]).min(axis=1, initial=np.inf)
    part, mass = centers[light], weight[light]
    merged: FloatArray = np.ones(len(part))
    while len(part) > 1:
        open_ = mass <= _SURE * noise * np.sqrt(merged)
        apart = sq_distances(part, part)
        apart[(apart >= near) | (apart >= near[:, None]) | ~(open_ | open_[:, None])] = np.inf
        np.fill_diagonal(apart, np.inf)
        i, j = np.unravel_index(int(apart.argmin()), apart.shape)
        if np.isinf(apart[i, j]):
            break
        pair = [int(i), int(j)]
        part[i] = mass[pair] @ part[pair] / mass[pair].sum()
        mass[i], merged[i] = mass[pair].sum(), merged[pair].sum()
        near[i] = near[pair].min()
        part, mass, merged, near = (np.delete(a, j, axis=0) for a in (part, mass, merged, near))
    sure = mass > _SURE * noise * np.sqrt(merged)
    return np.concatenate([centers[heavy], part[sure]]), np.concatenate([weight[heavy], mass[sure]])


def _guess_squares(centers: FloatArray, weight: FloatArray) -> FloatArray:
    """Squares of evenly filled neighbours, which are as wide as they are apart."""
    apart = sq_distances(centers, centers)
    np.fill_diagonal(apart, np.inf)
    by_column = apart.min(axis=1) / (12.0 * centers.shape[1])
    squares: FloatArray = np.repeat((weight * by_column)[:, None], centers.shape[1], axis=1)
    return squares
