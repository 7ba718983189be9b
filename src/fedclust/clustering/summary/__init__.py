"""The summary of all rows: one run of sums, from which all later questions are answered."""

from .evidence import choose_from
from .learn import MICRO, SummaryRun, count_micro, count_queries
from .search import assign, find_centers, inertias
from .shapes import find_shapes
from .tree import Tree, cut, ward_tree
from .value import DataSummary, draw_rows

__all__ = [
    "MICRO",
    "DataSummary",
    "SummaryRun",
    "Tree",
    "assign",
    "choose_from",
    "count_micro",
    "count_queries",
    "cut",
    "draw_rows",
    "find_centers",
    "find_shapes",
    "inertias",
    "ward_tree",
]
