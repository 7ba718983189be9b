"""Convert data frames of pandas, Polars and Arrow to columns."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import DataError
from .formats import Columns
from .values import is_missing


def columns_of(table: Any, source: str = "the table") -> Columns:
    """Columns of a data frame, or of a mapping of names to values."""
    if isinstance(table, Mapping):
        return {str(name): np.asarray(values) for name, values in table.items()}
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise DataError(
            f"{source}: expected a data frame (pandas, Polars, Arrow) or a dict of columns, "
            f"got {type(table).__name__}"
        ) from None
    return {str(name): _values(frame[name]) for name in frame.columns}


def _values(column: Any) -> Any:
    values = column.to_numpy()
    if values.dtype.kind in "iu":
        return values.astype(float)
    if values.dtype.kind != "O":
        return values
    # Each library marks missing values in its own way, and some then store numbers as objects.
    plain = [None if is_missing(v) else v for v in values.tolist()]
    return np.array(plain, dtype=float if column.dtype.is_numeric() else object)
