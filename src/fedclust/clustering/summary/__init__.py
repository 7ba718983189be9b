"""The summary of all rows: one run of sums, from which all later questions are answered."""

from .evidence import choose_from
from .groups import Groups, group_by_centers, group_by_shape, group_by_tree
from .learn import MICRO, SummaryRun, count_micro, count_queries
from .publish import publish
from .search import assign, find_centers, inertias
from .shapes import find_shapes
from .tree import Tree, cut, ward_tree
from .value import DataSummary, draw_rows

__all__ = [
    "MICRO",
    "DataSummary",
    "Groups",
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
    "group_by_centers",
    "group_by_shape",
    "group_by_tree",
    "inertias",
    "publish",
    "ward_tree",
]
