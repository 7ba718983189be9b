"""Checks of the values that a table holds."""

from typing import Any

import numpy as np

from ..core import DataError

NA_VALUES = ("", "NA", "NaN", "?")  # words in text files that stand for a missing value


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA will not say whether it equals itself
        return True
    except ValueError:  # a list of values is no gap
        return False


def no_dates_or_words(X: Any, client: str) -> None:
    """Refuse a data frame's columns that hold no numbers, by name."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    for name in X.columns:
        values = np.asarray(X[name])
        if values.dtype.kind in "Mm":
            raise DataError(f"{client}: column {name!r} holds dates or durations, not numbers")
        if values.dtype.kind in "OUST":
            try:
                values.astype(np.float64)
            except (TypeError, ValueError):
                raise DataError(
                    f"{client}: column {name!r} holds values that are no numbers; leave it out, "
                    "or encode it"
                ) from None


def is_one_dimensional(X: Any) -> bool:
    """Whether X is an array or a series that could be meant as a row or as a column."""
    return hasattr(X, "dtype") and np.ndim(X) == 1
