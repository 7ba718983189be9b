"""Shared code of the formats that pyarrow reads."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ...core import ConfigError
from ...typing import Array
from ..kinds import Kind, kind_of, text_kind
from .format import Columns, Selection
from .header import refuse_duplicates

_NEEDS_ARROW = (
    "Parquet and Feather, and files read in batches, need pyarrow: pip install 'fedclust[study]'"
)


def has_arrow() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def require_arrow(file: Path) -> Any:
    """Import pyarrow, or raise an error that names the package to install."""
    try:
        import pyarrow
    except ImportError:
        raise ConfigError(f"{file}: {_NEEDS_ARROW}") from None
    return pyarrow


def text_columns(file: Path, schema: Any) -> list[str]:
    """Names of the columns of an Arrow schema that hold text."""
    from pyarrow import types

    refuse_duplicates(file, schema.names)
    tests = (types.is_string, types.is_large_string)
    return [field.name for field in schema if any(test(field.type) for test in tests)]


def read_kinds(file: Path, schema: Any, first: Any) -> dict[str, Kind]:
    """Names of the columns of an Arrow schema, and what they hold; text may hold dates."""
    texts = text_columns(file, schema) if first is not None else []
    judged = {n: text_kind(kind_of(_as_array(first.column(n), is_id=False))) for n in texts}
    return {field.name: judged.get(field.name) or _kind(field.type) for field in schema}


def _kind(type_: Any) -> Kind:
    from pyarrow import types

    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    if any(test(type_) for test in numbers):
        return Kind.NUMBERS
    dates = types.is_timestamp(type_) or types.is_date(type_)
    return Kind.DATES if dates else Kind.TEXT


def as_columns(table: Any, names: Sequence[str], id: str | None) -> Columns:
    """Columns of an Arrow table or batch as arrays."""
    return {name: _as_array(table.column(name), name == id) for name in names}


def select_columns(batch: Any, selection: Selection) -> Columns:
    """The selected columns of an Arrow batch as arrays."""
    return as_columns(batch, selection.names, selection.id)


def _as_array(values: Any, is_id: bool) -> Array:
    """Convert an Arrow column: numbers with NaN, or objects with None, for missing values."""
    if is_id:  # an id may be a list; fromiter does not turn it into a second axis
        return np.fromiter(values.to_pylist(), dtype=object, count=len(values))
    kind = str(values.type)
    if kind == "null":
        return np.full(len(values), np.nan)
    if kind.startswith("dictionary"):  # categories of any type
        return np.array(values.to_pylist(), dtype=object)
    if kind.startswith("decimal"):
        values = values.cast("float64")
    array: Array = values.to_numpy(zero_copy_only=False)
    if kind == "bool":  # text, as in a CSV file
        return np.array([None if v is None else str(v).lower() for v in array], dtype=object)
    return array.astype(float) if array.dtype.kind in "iu" else array
