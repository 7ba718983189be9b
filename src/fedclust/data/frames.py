"""Data frames of any library as columns: pandas, Polars and Arrow users are equal citizens."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import DataError
from .formats import Columns
from .values import is_missing


def columns_of(table: Any, who: str = "the table") -> Columns:
    """The columns of a data frame, or of a mapping of names to values."""
    if isinstance(table, Mapping):
        return {str(name): np.asarray(values) for name, values in table.items()}
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise DataError(
            f"{who}: expected a data frame (pandas, Polars, Arrow) or a dict of columns, "
            f"got {type(table).__name__}"
        ) from None
    return {str(name): _values(frame[name]) for name in frame.columns}


def _values(column: Any) -> Any:
    found = column.to_numpy()
    if found.dtype.kind in "iu":
        return found.astype(float)
    if found.dtype.kind != "O":
        return found
    # Libraries have a gap of their own each, and some make objects of numbers with gaps.
    plain = [None if is_missing(v) else v for v in found.tolist()]
    return np.array(plain, dtype=float if column.dtype.is_numeric() else object)
