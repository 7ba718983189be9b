"""Parse the values of text files and sheets; full reads and batches share these rules."""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..typing import Array
from .numbers import PLAIN, Notation, parse_number

_PROBE = 50  # values


def parse_ids(values: Sequence[str]) -> Array:
    """Ids as text: as numbers they could lose zeros and last digits."""
    return np.array([value.strip() for value in values], dtype=object)


def parse_words(
    values: Sequence[str], missing: Collection[str], notation: Notation | None = PLAIN
) -> Array:
    """Trimmed text with numbers in plain notation, and None for missing values."""
    stripped = (value.strip() for value in values)
    if notation is None or notation.plain:
        return np.array([None if v in missing else v for v in stripped], dtype=object)
    plain = notation.normalise
    return np.array([None if v in missing else plain(v) for v in stripped], dtype=object)


def parse_numbers(
    values: Sequence[str], missing: Collection[str], notation: Notation | None = PLAIN
) -> Array:
    """Numbers, missing values as NaN; raises ValueError for any other text.

    Without a notation the numbers are ambiguous, so none of them is parsed.
    """
    if notation is None:
        raise ValueError("ambiguous numbers")
    for value in values[:_PROBE]:  # a column of words fails here, and not after all strips
        if (text := value.strip()) not in missing:
            notation.parse(text)
    stripped = [value.strip() for value in values]
    parse: Callable[[str], float] = notation.parse
    if notation.plain:
        parse = parse_number if "_" in "".join(stripped) else float  # float is faster
    return np.array([np.nan if v in missing else parse(v) for v in stripped], dtype=float)


def parse_column(
    values: Sequence[str], missing: Collection[str], notation: Notation | None = PLAIN
) -> Array:
    """Numbers if all values are numeric, else text."""
    try:
        return parse_numbers(values, missing, notation)
    except ValueError:
        return parse_words(values, missing, notation)


def parse_arrow_numbers(
    values: Any, missing: Collection[str], notation: Notation | None = PLAIN
) -> Array:
    """`parse_numbers` for an Arrow column of text, faster where Arrow can parse it."""
    import pyarrow
    from pyarrow import compute

    if notation is None:
        raise ValueError("ambiguous numbers")
    stripped = compute.utf8_trim_whitespace(values)
    is_missing = compute.is_in(stripped, value_set=_value_set(frozenset(missing)))
    kept = compute.if_else(is_missing, pyarrow.scalar(None, pyarrow.string()), stripped)
    try:
        plain = kept if notation.plain else _plain_numbers(kept, notation)
        numbers: Array = compute.cast(plain, "float64").to_numpy(zero_copy_only=False)
    except pyarrow.ArrowInvalid:  # text, or a number in a spelling that only Python accepts
        return parse_numbers(values.to_pylist(), missing, notation)
    return numbers


@lru_cache(maxsize=8)
def _value_set(words: frozenset[str]) -> Any:
    import pyarrow

    return pyarrow.array(sorted(words))


def _plain_numbers(values: Any, notation: Notation) -> Any:
    """Arrow's text with numbers in plain notation; raises ValueError for any other text."""
    from pyarrow import compute

    matches = compute.match_substring_regex(values, f"^(?:{notation.pattern})$")
    if compute.any(compute.invert(matches)).as_py():
        raise ValueError("not a number")
    for mark in notation.separators:
        values = compute.replace_substring(values, mark, "")
    if notation.decimal not in ("", "."):
        values = compute.replace_substring(values, notation.decimal, ".")
    return values
