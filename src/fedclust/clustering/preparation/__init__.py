"""Federated preprocessing: pooled means, variances and quantiles, applied by every client itself.

Standardising by one's own mean and deviation would put every client's rows on another scale, and
pooled clusters would be clusters of clients.
"""

from .column import Column
from .prepare import Preparation, by_bounds, encoded, prepare, prepare_over
from .statistics import Histogram, MedianOfMeans, Moments

__all__ = [
    "Column",
    "Histogram",
    "MedianOfMeans",
    "Moments",
    "Preparation",
    "by_bounds",
    "encoded",
    "prepare",
    "prepare_over",
]
