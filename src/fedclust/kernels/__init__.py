"""Numerical kernels: pure functions on arrays, without validation or I/O.

Randomness comes from the generator that the caller passes.
"""

from ._plain import memberships_of
from .cells import fuzzy_cell_sums, hard_cell_sums
from .grouping import RowGroups, group_rows, hide_small_sums
from .local import (
    LocalClustering,
    farthest_first,
    fuzzy_c_means,
    inertia,
    k_means,
    kmeans_plusplus,
    lloyd,
    match_centers,
    pad_centers,
    random_seeds,
)
from .mixture import Density, mixture_sums, most_probable, posteriors, score_mixture
from .rivals import compare_solutions
from .search import fuzzy_objective, search_centers, search_fuzzy_centers
from .steps import (
    FuzzySums,
    HardSums,
    divide_or_keep,
    fuzzy_sums,
    hard_sums,
    memberships,
    nearest,
    sq_distances,
    steady_memberships,
    steady_nearest,
    steady_nearest_observed,
    steady_nearest_two,
)

__all__ = [
    "Density",
    "FuzzySums",
    "HardSums",
    "LocalClustering",
    "RowGroups",
    "compare_solutions",
    "divide_or_keep",
    "farthest_first",
    "fuzzy_c_means",
    "fuzzy_cell_sums",
    "fuzzy_objective",
    "fuzzy_sums",
    "group_rows",
    "hide_small_sums",
    "hard_cell_sums",
    "hard_sums",
    "inertia",
    "k_means",
    "kmeans_plusplus",
    "lloyd",
    "match_centers",
    "memberships",
    "memberships_of",
    "mixture_sums",
    "most_probable",
    "nearest",
    "pad_centers",
    "posteriors",
    "score_mixture",
    "random_seeds",
    "search_centers",
    "search_fuzzy_centers",
    "sq_distances",
    "steady_memberships",
    "steady_nearest",
    "steady_nearest_observed",
    "steady_nearest_two",
]
