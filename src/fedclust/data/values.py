"""Check the values of a table."""

from typing import Any

import numpy as np

from ..core import DataError
from ..typing import Array

# Words in text files and sheets that stand for a missing value: those of pandas, and "?".
NA_VALUES = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
    "?",
)
ALWAYS_MISSING = ("", "nan", "NaN", "NAN", "Nan")  # whatever the settings list


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA cannot be compared with itself
        return True
    except ValueError:  # a list is not a missing value
        return False


def refuse_non_numeric(X: Any, client: str) -> None:
    """Refuse a data frame with a column that is not numeric, and name the column."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    for name in X.columns:
        if (
            str(getattr(X[name], "dtype", "")) == "boolean"
        ):  # of pandas: with NA its array is one of objects
            continue
        values = np.asarray(X[name])
        if values.dtype.kind in "Mm":
            raise DataError(f"{client}: column {name!r} has dates or durations, not numbers")
        if values.dtype.kind in "OUST":
            try:
                values.astype(np.float64)
            except (TypeError, ValueError):
                hint = "drop it, or encode it"
                if _has_decimal_commas(values):
                    hint = "its numbers have decimal commas: read the file with decimal=','"
                raise DataError(f"{client}: column {name!r} is not numeric; {hint}") from None


def _has_decimal_commas(values: Array) -> bool:
    """Whether the values become numbers once commas are points."""
    texts = [str(value) for value in values]
    try:
        np.array([text.replace(",", ".") for text in texts], dtype=np.float64)
    except ValueError:
        return False
    return any("," in text for text in texts)


def is_one_dimensional(X: Any) -> bool:
    """Whether X is a one-dimensional array, which could mean a row or a column."""
    return hasattr(X, "dtype") and np.ndim(X) == 1
