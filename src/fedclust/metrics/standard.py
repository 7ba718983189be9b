"""The standard indices, each with its sums and its formula."""

import numpy as np

from ..kernels import sq_distances
from ..typing import FloatArray
from .indices import Index, Rows


def _nearest(rows: Rows) -> FloatArray:
    return rows.mean_of(rows.D.min(axis=1))


def _nearest_unsquared(rows: Rows) -> FloatArray:
    return rows.mean_of(np.sqrt(rows.D.min(axis=1)))


def _others_unsquared(rows: Rows) -> FloatArray:
    return rows.mean_of(rows.distance.sum(axis=1) - rows.distance.min(axis=1))


def _objective(rows: Rows) -> FloatArray:
    return rows.mean_of((rows.memberships**rows.fuzzifier * rows.D).sum(axis=1))


def _spread(rows: Rows) -> FloatArray:
    """Per centre: distances of its own rows, and their weight."""
    own, w, k = rows.D.argmin(axis=1), rows.weight, rows.n_clusters
    distance = w * np.sqrt(rows.D.min(axis=1))
    return np.concatenate([np.bincount(own, distance, k), np.bincount(own, w, k), [w.sum()]])


def _soft_spread(rows: Rows) -> FloatArray:
    """Per centre: distances of all rows, and their memberships."""
    w = rows.weight
    return np.concatenate([w @ rows.distance, w @ rows.memberships, [w.sum()]])


def _silhouette(rows: Rows) -> FloatArray:
    own, next_best = np.sqrt(np.partition(rows.D, 1, axis=1)[:, :2].T)
    margin = np.divide(next_best - own, next_best, out=np.zeros_like(own), where=next_best > 0)
    return rows.mean_of(margin)


def _two_per_cluster(n_clusters: int) -> int:
    """Two numbers for each centre, and the weight of all rows."""
    return 2 * n_clusters + 1


def _total(sums: FloatArray, centers: FloatArray) -> float:
    return float(sums[0])


def _mean(sums: FloatArray, centers: FloatArray) -> float:
    return float(sums[0] / sums[-1])


def _mean_per_feature(sums: FloatArray, centers: FloatArray) -> float:
    return float(sums[0] / (sums[-1] * centers.shape[1]))


def _over_separation(sums: FloatArray, centers: FloatArray) -> float:
    apart = sq_distances(centers, centers)
    np.fill_diagonal(apart, np.inf)
    closest = apart.min()
    return float(sums[0] / (sums[-1] * closest)) if closest > 0 else np.inf


def _davies_bouldin(sums: FloatArray, centers: FloatArray) -> float:
    distance, weight = sums[:-1].reshape(2, -1)
    used = weight > 0
    return _worst_ratios(distance[used] / weight[used], centers[used])


def _soft_davies_bouldin(sums: FloatArray, centers: FloatArray) -> float:
    distance, membership = sums[:-1].reshape(2, -1) / sums[-1]
    return _worst_ratios(distance * membership, centers)


def _worst_ratios(spread: FloatArray, centers: FloatArray) -> float:
    """Mean over clusters of the worst (S_i + S_j) / |c_i - c_j|."""
    if len(centers) < 2:
        return 0.0
    apart = np.sqrt(sq_distances(centers, centers))
    np.fill_diagonal(apart, np.inf)
    both = spread[:, None] + spread
    ratio = np.divide(both, apart, out=np.full_like(apart, np.inf), where=apart > 0)
    return float(ratio.max(axis=1).mean())


# What k-means minimises.
inertia = Index(
    name="inertia",
    title="Inertia",
    meaning="sum of squared distances to the nearest centre",
    better="lower",
    sums=_nearest,
    formula=_total,
    size=2,
    reported=False,
)

# Uses distances to centres instead of rows, so it is linear in N and a sum over rows.
simplified_silhouette = Index(
    name="simplified-silhouette",
    title="Simplified silhouette",
    meaning="how much closer rows are to their own centre than to the next; at most 1",
    better="higher",
    sums=_silhouette,
    formula=_mean,
    size=2,
    min_clusters=2,
    chooses_k=True,
)

# From the framework of Stallmann and Wilbik. The spread of a cluster is the mean distance of *all*
# rows times its mean membership.
soft_davies_bouldin = Index(
    name="soft-davies-bouldin",
    title="Soft Davies-Bouldin",
    meaning="spread of clusters, weighted by membership, against the distance between them",
    better="lower",
    sums=_soft_spread,
    formula=_soft_davies_bouldin,
    size=_two_per_cluster,
    chooses_k=True,
)

# Uses the given centres; equal to scikit-learn's if they are the means of the clusters.
davies_bouldin = Index(
    name="davies-bouldin",
    title="Davies-Bouldin",
    meaning="spread of clusters against the distance between them",
    better="lower",
    sums=_spread,
    formula=_davies_bouldin,
    size=_two_per_cluster,
)

# The fuzzy objective divided by N times the smallest squared distance of two centres.
xie_beni = Index(
    name="xie-beni",
    title="Xie-Beni",
    meaning="compactness against the smallest distance between centres",
    better="lower",
    sums=_objective,
    formula=_over_separation,
    size=2,
    chooses_k=True,
)

# The score of the DWF paper.
score = Index(
    name="score",
    title="Score",
    meaning="mean squared distance to the nearest centre",
    better="lower",
    sums=_nearest,
    formula=_mean,
    size=2,
    reported=False,
)

# The within-cluster error of FFCM and FFCF.
wsse = Index(
    name="wsse",
    title="WSSE",
    meaning="mean distance to the nearest centre, not squared, per feature",
    better="lower",
    sums=_nearest_unsquared,
    formula=_mean_per_feature,
    size=2,
    reported=False,
)

# The outside-cluster error of FFCM and FFCF.
osse = Index(
    name="osse",
    title="OSSE",
    meaning="sum of the mean distances to all other centres, not squared, per feature",
    better="higher",
    sums=_others_unsquared,
    formula=_mean_per_feature,
    size=2,
    reported=False,
)

# What fuzzy c-means minimises.
fuzzy_objective = Index(
    name="objective",
    title="Fuzzy objective",
    meaning="sum of u^m d^2 over all rows and centres, of memberships u and distances d",
    better="lower",
    sums=_objective,
    formula=_total,
    size=2,
    reported=False,
)

# In the order in which messages and reports list them.
STANDARD = (
    inertia,
    simplified_silhouette,
    soft_davies_bouldin,
    davies_bouldin,
    xie_beni,
    score,
    wsse,
    osse,
    fuzzy_objective,
)
