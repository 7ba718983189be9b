"""Arrays in, arrays out: no state, no validation, no I/O, and no random numbers of their own."""

from ._plain import memberships_of
from .local import (
    Local,
    farthest_first,
    fuzzy_c_means,
    inertia,
    k_means,
    kmeans_plusplus,
    lloyd,
    matched,
    padded,
    random_seeds,
)
from .steps import (
    FuzzySums,
    HardSums,
    divide_or_keep,
    fuzzy_sums,
    hard_sums,
    memberships,
    nearest,
    sq_distances,
)

__all__ = [
    "FuzzySums",
    "HardSums",
    "Local",
    "divide_or_keep",
    "farthest_first",
    "fuzzy_c_means",
    "fuzzy_sums",
    "hard_sums",
    "inertia",
    "k_means",
    "kmeans_plusplus",
    "lloyd",
    "matched",
    "memberships",
    "memberships_of",
    "nearest",
    "padded",
    "random_seeds",
    "sq_distances",
]
