"""From evidence to a recommendation: functions of scores, without clients.

The largest number of clusters wins that are all found again in two halves of the rows, among those
whose silhouette is near the best. How often that is right: ``python -m benchmarks.choice``.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core import stream
from ...kernels import k_means
from ...metrics import INDICES, simplified_silhouette
from ...typing import FloatArray, IntArray
from .score import ELBOW, STABILITY, Score

NEAR = 0.05  # a silhouette is near the best one
FOUND_AGAIN = 0.75  # a cluster is found again if it overlaps so much with its own in the other half
ABOVE_ONE_CLOUD = 0.075  # clusters show if the silhouette is so much above that of one cloud


class Verdict(NamedTuple):
    """What is recommended, and why."""

    recommended: int
    why: str
    weak: bool


def elbow(ks: Sequence[int], inertia: Sequence[float]) -> FloatArray:
    """How far each log inertia lies below the line from the first to the last; 0 at both ends.

    Both axes go from 0 to 1. On logarithms, since on plain values the first drop hides all others.
    """
    x, y = np.asarray(ks, dtype=float), np.asarray(inertia, dtype=float)
    if y[0] <= 0 or len(x) < 2:
        return np.zeros(len(x))
    y = np.log(np.maximum(y, 1e-12 * y[0]))
    fall = y[0] - y[-1]
    if fall <= 0:
        return np.zeros(len(x))
    below: FloatArray = (x[-1] - x) / (x[-1] - x[0]) - (y - y[-1]) / fall
    return below


def weakest_cluster(table: FloatArray) -> float:
    """The smallest overlap of a cluster with the one most like it in the other clustering.

    Of 0 to 1: rows in both over rows in either (Jaccard). C. Hennig: "Cluster-wise assessment of
    cluster stability", Computational Statistics & Data Analysis, 2007, calls clusters above 0.75
    stable.
    """
    either = table.sum(axis=1, keepdims=True) + table.sum(axis=0) - table
    overlap = np.divide(table, either, out=np.zeros_like(table), where=either > 0)
    return float(min(overlap.max(axis=1).min(), overlap.max(axis=0).min()))


def one_cloud(
    centers: FloatArray, sizes: FloatArray, inertia: float, n_rows: float, k: int, seed: int
) -> float:
    """The silhouette of k clusters in one Gaussian cloud, spread as the data are.

    The spread is that of many clusters' centres and, equally in all directions, of the rows around
    them: the server has both, and draws rows of its own from it. What has no clusters comes out
    like this; how high depends on the dimension, on how long the cloud is, and for few rows on
    their number.
    """
    rng, F = stream(seed, "cloud", k), centers.shape[1]
    n = int(np.clip(n_rows, k + 1, 1000))
    share = sizes / sizes.sum()
    between = np.sqrt(share)[:, None] * (centers - share @ centers)
    around = np.sqrt(inertia / (sizes.sum() * F))
    values = []
    for _ in range(5):
        X = rng.normal(size=(n, len(centers))) @ between + around * rng.normal(size=(n, F))
        values.append(simplified_silhouette(X, k_means(X, k, rng, restarts=2)))
    return float(np.mean(values))


def favourites(scores: Sequence[Score]) -> dict[str, int]:
    """Which number of clusters each index alone would choose."""
    ks = [score.n_clusters for score in scores]
    compared = [index for index in map(INDICES.__getitem__, scores[0].indices) if index.chooses_k]
    chosen = {index.name: index.best([s.indices[index.name] for s in scores]) for index in compared}
    chosen[ELBOW.name] = ELBOW.best([s.elbow for s in scores])
    again = _found_again(scores)
    if len(again):
        chosen[STABILITY.name] = int(again[-1])
    return {name: ks[i] for name, i in chosen.items()}


def pick(scores: Sequence[Score]) -> Score:
    """The largest number of clusters all found again, of those with a silhouette near the best."""
    silhouette = np.array([_silhouette(score) for score in scores])
    again = _found_again(scores)
    near = again[silhouette[again] >= silhouette.max() - NEAR]
    return scores[int(near[-1])] if len(near) else scores[int(silhouette.argmax())]


def _silhouette(score: Score) -> float:
    return score.indices[simplified_silhouette.name]


def _found_again(scores: Sequence[Score]) -> IntArray:
    """Positions of the scores whose clusters are all found in both halves."""
    return np.flatnonzero([score.weakest_cluster >= FOUND_AGAIN for score in scores])


def verdict(scores: Sequence[Score], chosen: Score, cloud: float) -> Verdict:
    """The recommendation in one sentence, with its evidence and what speaks against it."""
    k, silhouette = chosen.n_clusters, _silhouette(chosen)
    found, against = "the best silhouette", []
    if silhouette < cloud + ABOVE_ONE_CLOUD:
        against.append("there may be no clusters at all")
    if np.isnan(chosen.stability):
        against.append("stability could not be measured, as no client has rows enough to halve")
    elif chosen.weakest_cluster < FOUND_AGAIN:
        agreement = f"agreement {chosen.stability:.2f}, weakest {chosen.weakest_cluster:.2f}"
        against.append(f"two halves of the rows do not find the same clusters ({agreement})")
    else:
        found = (
            "the largest number whose clusters two halves of the rows all find (agreement "
            f"{chosen.stability:.2f}) with a silhouette near the best"
        )
    why = f"{k} clusters{', on weak evidence' if against else ''}: {found} ({silhouette:.2f}; "
    why += f"one cloud without clusters would have {cloud:.2f})"
    if against:
        why += f", but {' and '.join(against)}"
    return Verdict(k, why + _at_an_end(k, [s.n_clusters for s in scores]), bool(against))


def _at_an_end(k: int, ks: Sequence[int]) -> str:
    if len(ks) == 1:
        return "; no other number was tried"
    if k == ks[-1]:
        return "; it is the largest number tried, so try larger ones"
    if k == ks[0] > 2:
        return "; it is the smallest number tried, so try smaller ones"
    return ""
