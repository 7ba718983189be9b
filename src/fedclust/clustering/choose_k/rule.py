"""Turn scores into a recommendation, without clients.

It is the largest k whose clusters all reappear in two random halves of the rows, among those with
a silhouette close to the best. ``python -m benchmarks.choice`` measures how often it is right.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core import stream
from ...kernels import k_means
from ...metrics import INDICES, simplified_silhouette
from ...typing import FloatArray, IntArray
from .score import ELBOW, STABILITY, Score

NEAR = 0.05  # largest difference of a silhouette close to the best
REAPPEARS = 0.75  # overlap from which a cluster counts as found in the other half
ABOVE_ONE_CLOUD = 0.075  # silhouette above that of one cloud from which clusters are evident


class Verdict(NamedTuple):
    """A recommendation and its reasons."""

    recommended: int
    why: str
    weak: bool


def elbow(ks: Sequence[int], inertia: Sequence[float]) -> FloatArray:
    """Distance of each log inertia below the line from the first to the last; 0 at both ends.

    Both axes are scaled to [0, 1]. Logarithms are used because the first drop would hide all
    others.
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
    """Smallest overlap of a cluster with its best match in the other clustering.

    The overlap is Jaccard's, from 0 to 1: rows in both over rows in either. C. Hennig:
    "Cluster-wise assessment of cluster stability", Computational Statistics & Data Analysis, 2007,
    calls clusters above 0.75 stable.
    """
    either = table.sum(axis=1, keepdims=True) + table.sum(axis=0) - table
    overlap = np.divide(table, either, out=np.zeros_like(table), where=either > 0)
    return float(min(overlap.max(axis=1).min(), overlap.max(axis=0).min()))


def one_cloud(
    centers: FloatArray, sizes: FloatArray, inertia: float, n_rows: float, k: int, seed: int
) -> float:
    """Silhouette of k clusters in one Gaussian cloud with the spread of the data.

    The spread is that of many centres plus, equally in all directions, that of the rows around
    them. The server knows both and draws its own rows. Data without clusters would have this
    silhouette. It depends on the dimension, the shape of the cloud, and for few rows on their
    number.
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
    """The number of clusters that each index alone would choose."""
    ks = [score.n_clusters for score in scores]
    compared = [index for index in map(INDICES.__getitem__, scores[0].indices) if index.chooses_k]
    chosen = {index.name: index.best([s.indices[index.name] for s in scores]) for index in compared}
    chosen[ELBOW.name] = ELBOW.best([s.elbow for s in scores])
    stable = _reappearing(scores)
    if len(stable):
        chosen[STABILITY.name] = int(stable[-1])
    return {name: ks[i] for name, i in chosen.items()}


def pick(scores: Sequence[Score], near: float = NEAR, few: float = 0.0) -> Score:
    """Pick the largest stable k with a silhouette close to the best.

    A k with a cluster of less than the share `few` of all rows is not among them.
    """
    scores = [score for score in scores if score.smallest >= few] or scores
    silhouette = np.array([_silhouette(score) for score in scores])
    stable = _reappearing(scores)
    close = stable[silhouette[stable] >= silhouette.max() - near]
    return scores[int(close[-1])] if len(close) else scores[int(silhouette.argmax())]


def _silhouette(score: Score) -> float:
    return score.indices[simplified_silhouette.name]


def _reappearing(scores: Sequence[Score]) -> IntArray:
    """Positions of the scores whose clusters all reappear in both halves."""
    return np.flatnonzero([score.weakest_cluster >= REAPPEARS for score in scores])


def verdict(scores: Sequence[Score], chosen: Score, cloud: float) -> Verdict:
    """Explain the recommendation, with its evidence and what speaks against it."""
    k, silhouette = chosen.n_clusters, _silhouette(chosen)
    reason = f"It has the best silhouette, {silhouette:.2f}."
    unclear, against = silhouette < cloud + ABOVE_ONE_CLOUD, ""
    if np.isnan(chosen.stability):
        against = " Stability could not be measured, because no client has enough rows to split."
    elif chosen.weakest_cluster < REAPPEARS:
        against = (
            " Not every cluster reappears in two random halves of the rows (adjusted Rand index "
            f"{chosen.stability:.2f}, weakest cluster {chosen.weakest_cluster:.2f})."
        )
    else:
        reason = (
            "It is the largest k whose clusters reappear in both random halves of the rows "
            f"(adjusted Rand index {chosen.stability:.2f}) and whose silhouette, "
            f"{silhouette:.2f}, is close to the best."
        )
    reference = f"Data without clusters would score about {cloud:.2f}"
    reference += ", so there may be no clusters." if unclear else "."
    weak = unclear or bool(against)
    first = f"Chose k = {k}{'; the evidence is weak' if weak else ''}."
    ks = [score.n_clusters for score in scores]
    return Verdict(k, f"{first} {reason} {reference}{against}{_range_note(k, ks)}", weak)


def _range_note(k: int, ks: Sequence[int]) -> str:
    if len(ks) == 1:
        return " No other k was tried."
    if k == ks[-1]:
        return " It is the largest k tried; try larger ones."
    if k == ks[0] > 2:
        return " It is the smallest k tried; try smaller ones."
    return ""
