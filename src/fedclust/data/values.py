"""Check the values of a table."""

from collections.abc import Iterator
from contextlib import contextmanager
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
_REFUSALS = {  # by words of the original
    "Expected 2D array": "expected a table with rows and columns, got an array without. Reshape "
    "your data: X.reshape(-1, 1) makes it one column, X.reshape(1, -1) one row",
    "could not convert string": "has text, which is not numeric; drop the columns, or encode them",
    "Complex data not supported": "Complex data not supported; use a column for the real and one "
    "for the imaginary part",
    "inhomogeneous": "its rows have different lengths",
}


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA cannot be compared with itself
        return True
    except ValueError:  # a list is not a missing value
        return False


def refuse_non_numeric(X: Any, client: str) -> None:
    """Refuse masked cells, and a data frame with a column that is not numeric; name the column."""
    if hasattr(X, "mask") and np.ma.is_masked(X):  # the first use of np.ma imports it
        raise DataError(f"{client}: some values are masked; drop or fill them first")
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    _refuse_repeated(list(X.columns), client)
    for name in X.columns:
        if str(getattr(X[name], "dtype", "")) != "boolean":  # of pandas: with NA made of objects
            _refuse_column(np.asarray(X[name]), name, client)


def _refuse_repeated(names: list[Any], client: str) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise DataError(f"{client}: two columns are called {name!r}; rename one")


def _refuse_column(values: Array, name: object, client: str) -> None:
    if values.dtype.kind in "Mm":
        raise DataError(f"{client}: column {name!r} has dates or durations, not numbers")
    if values.dtype.kind not in "OUST":
        return
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


@contextmanager
def plain_refusals(client: str) -> Iterator[None]:
    """Replace refusals of NumPy, narwhals and scikit-learn that print values of the table."""
    try:
        yield
    except ValueError as problem:
        if (plain := _in_plain_words(str(problem))) is None:
            raise
        raise DataError(f"{client}: {plain}") from None


def _in_plain_words(problem: str) -> str | None:
    """The refusal in one sentence without values; None if it has none."""
    return next((plain for words, plain in _REFUSALS.items() if words in problem), None)


def is_one_dimensional(X: Any) -> bool:
    """Whether X is a one-dimensional array, which could mean a row or a column."""
    return hasattr(X, "dtype") and np.ndim(X) == 1
