"""Federated preprocessing: pooled means, variances and quantiles, applied by each client.

If each client standardised by its own mean and deviation, rows of different clients would be on
different scales, and clusters would reflect clients.
"""

from .column import Column, clip_rows
from .prepare import (
    Preparation,
    encode_columns,
    encoded_schema,
    prepare,
    prepare_over,
    scale_by_bounds,
)
from .ranges import ESTIMATE, ColumnRange, declared, estimate_bounds, limit_bounds, widen
from .statistics import Histogram, MedianOfMeans, Moments, round_means, round_to, spread_of_shares

__all__ = [
    "ESTIMATE",
    "Column",
    "ColumnRange",
    "Histogram",
    "MedianOfMeans",
    "Moments",
    "Preparation",
    "scale_by_bounds",
    "clip_rows",
    "declared",
    "encode_columns",
    "encoded_schema",
    "estimate_bounds",
    "limit_bounds",
    "prepare",
    "prepare_over",
    "round_means",
    "round_to",
    "spread_of_shares",
    "widen",
]
