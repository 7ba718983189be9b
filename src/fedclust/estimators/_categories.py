"""Columns of categories of an estimator: their codes, and words as codes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..clustering.preparation.column import as_listed, as_text
from ..core import ConfigError, DataError, did_you_mean
from ..data.values import is_missing
from ..typing import BoolArray, FloatArray
from ._tables import column_names, column_of, with_column


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of a column, as numbers in a table, and as they are listed if these are words.

    Words stand in a table as their positions in the list.
    """

    codes: FloatArray
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, column: Any, listed: Any) -> "Categories":
        """The categories that a user lists; missing values are none."""
        if isinstance(listed, str | Mapping) or not isinstance(listed, Iterable):
            raise ConfigError(f"categories: column {column!r} needs a list of its categories")
        given = [value for value in listed if not is_missing(value)]
        if not given:
            raise ConfigError(f"categories: the list of column {column!r} is empty")
        try:
            return cls(np.unique(np.asarray(given, dtype=float)))
        except (TypeError, ValueError):
            words = tuple(dict.fromkeys(map(as_text, given)))
            return cls(np.arange(float(len(words))), words)

    @property
    def names(self) -> list[str]:
        """The categories as text."""
        return list(self.words) or [as_text(code) for code in self.codes]

    def encode(self, column: str, values: FloatArray) -> FloatArray:
        """A column of 0 and 1 for each category (n, categories); missing in all of them or none."""
        missing = np.isnan(values)
        hot = values[:, None] == self.codes.astype(values.dtype)
        _refuse_unlisted(column, ~(hot.any(axis=1) | missing))
        encoded: FloatArray = np.where(missing[:, None], np.nan, hot.astype(float))
        return encoded

    def code(self, column: str, values: Iterable[Any]) -> FloatArray:
        """Words as codes."""
        places = {word: float(code) for word, code in zip(self.words, self.codes, strict=True)}
        codes = [
            np.nan if is_missing(v) else places.get(as_listed(v, places), -1.0) for v in values
        ]
        coded = np.array(codes, dtype=float)
        _refuse_unlisted(column, coded < 0)
        return coded


def code_words(X: Any, named: Mapping[str, Categories]) -> Any:
    """The table, or each of several, with codes in place of the words of these columns."""
    if isinstance(X, Mapping):
        return {name: code_words(table, named) for name, table in X.items()}
    if isinstance(X, list | tuple) and any(column_names(table) for table in X):
        return [code_words(table, named) for table in X]
    names = column_names(X)
    if names is None:
        listed = ", ".join(map(repr, named))
        raise DataError(f"categories: {listed} has words, so X must be a data frame with its name")
    for name, categories in named.items():
        if name not in names:
            raise ConfigError(f"categories: X has no column {name!r}{did_you_mean(name, names)}")
        X = with_column(X, name, categories.code(repr(name), column_of(X, name)))
    return X


def _refuse_unlisted(column: str, unlisted: BoolArray) -> None:
    if unlisted.any():
        raise DataError(
            f"column {column} has {int(unlisted.sum())} values that are not listed under "
            "categories; correct them, or list all categories"
        )
