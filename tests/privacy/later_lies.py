"""Lies that were made up after the method was finished, so that nothing was tuned for them.

Most stay where honest means can be: inside the cells of their clusters, with honest counts, or
within the spread of the clusters.
"""

from collections.abc import Mapping

import numpy as np

from fedclust.kernels import sq_distances
from fedclust.typing import FloatArray

from .lies import Claim, Lie, Phase


def _neighbours(places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The nearest other place of each place, and how far it is."""
    distance = sq_distances(places, places)
    np.fill_diagonal(distance, np.inf)
    distance[distance <= 1e-18] = np.inf  # the same place in another start
    nearest = np.where(np.isfinite(distance.min(axis=1)), distance.argmin(axis=1), 0)
    return places[nearest], np.linalg.norm(places[nearest] - places, axis=1)


def _towards_neighbours(claim: Claim) -> Claim:
    """As near to the neighbour as a mean can be without leaving its cell."""
    if len(claim.centers) < 2:
        return claim
    return claim.move(claim.centers + 0.49 * (_neighbours(claim.centers)[0] - claim.centers))


def _towards_neighbours_heavy(claim: Claim) -> Claim:
    return _towards_neighbours(claim.weigh(claim.weight * 1000))


def _pairs_swapped(claim: Claim) -> Claim:
    """Neighbours change places."""
    return claim if len(claim.centers) < 2 else claim.move(_neighbours(claim.centers)[0])


def _drifted(claim: Claim) -> Claim:
    """The truth, moved by one vector: four tenths of the usual distance between neighbours."""
    if len(claim.centers) < 2:
        return claim
    by = 0.4 * np.median(_neighbours(claim.centers)[1]) / np.sqrt(claim.points.shape[1])
    return claim.move(claim.points + by)


def _noise_as_large_as_clusters(claim: Claim) -> Claim:
    if len(claim.centers) < 2:
        return claim
    scale = _neighbours(claim.centers)[1] / (2 * np.sqrt(claim.points.shape[1]))
    return claim.move(claim.points + scale[:, None] * claim.rng.normal(size=claim.points.shape))


def _counts_reversed(claim: Claim) -> Claim:
    """True means; the smallest clusters are said to be the largest, and the other way round."""
    top = claim.weight.max(initial=0.0)
    return claim.weigh(top + 1.0 - claim.weight)


def _one_cluster_drained(claim: Claim) -> Claim:
    """The truth but for one cluster, which moves to the edge of its cell with all the weight."""
    if len(claim.centers) < 2:
        return claim
    aim = sq_distances(claim.corner[None], claim.centers)[0].argmin()
    points, weight = claim.points.copy(), claim.weight.copy()
    neighbours = _neighbours(claim.centers)[0]
    points[aim] = claim.centers[aim] + 0.49 * (neighbours[aim] - claim.centers[aim])
    weight[aim] = claim.weight.sum()
    return claim._replace(weight=weight).move(points)


LATER: Mapping[str, Lie] = {
    "to the edge of the cell": Lie(_towards_neighbours),
    "to the edge of the cell, heavy": Lie(_towards_neighbours_heavy),
    "to the edge of the cell, from round 3 on": Lie(_towards_neighbours, Phase.CLUSTERING, since=3),
    "neighbours swapped": Lie(_pairs_swapped),
    "all moved by one vector": Lie(_drifted),
    "noise as large as the clusters": Lie(_noise_as_large_as_clusters),
    "counts reversed": Lie(_counts_reversed),
    "one cluster to the edge, with all rows": Lie(_one_cluster_drained),
    "seeding only: between neighbours": Lie(_towards_neighbours, Phase.SEEDING),
}
