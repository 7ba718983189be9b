"""Parse the values of text files; full reads and batches share these rules."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..typing import Array

_NAN = ("nan", "NaN", "NAN", "Nan")  # always missing, whatever the study file lists


def parse_number(text: str) -> float:
    """Parse a number, or raise ValueError; "1_0" is a code, not ten."""
    if "_" in text:
        raise ValueError("not a number")
    return float(text)


def parse_ids(values: Sequence[str]) -> Array:
    """Ids as text: as numbers they could lose zeros and last digits."""
    return np.array([value.strip() for value in values], dtype=object)


def parse_words(values: Sequence[str], missing_values: Collection[str]) -> Array:
    """Trimmed text, missing values as None."""
    missing = missing_words(missing_values)
    stripped = (value.strip() for value in values)
    return np.array([None if v in missing else v for v in stripped], dtype=object)


def parse_numbers(values: Sequence[str], missing_values: Collection[str]) -> Array:
    """Numbers, missing values as NaN; raises ValueError for any other text."""
    missing, stripped = missing_words(missing_values), [value.strip() for value in values]
    parse = parse_number if "_" in "".join(stripped) else float  # float is faster
    return np.array([np.nan if v in missing else parse(v) for v in stripped], dtype=float)


def parse_column(values: Sequence[str], missing_values: Collection[str]) -> Array:
    """Numbers if all values are numeric, else text."""
    try:
        return parse_numbers(values, missing_values)
    except ValueError:
        return parse_words(values, missing_values)


def parse_arrow_numbers(values: Any, missing_values: Collection[str]) -> Array:
    """`parse_numbers` for an Arrow column of text, faster where Arrow can parse it."""
    import pyarrow
    from pyarrow import compute

    stripped = compute.utf8_trim_whitespace(values)
    missing = pyarrow.array(sorted(missing_words(missing_values)))
    is_missing = compute.is_in(stripped, value_set=missing)
    kept = compute.if_else(is_missing, pyarrow.scalar(None, pyarrow.string()), stripped)
    try:
        numbers: Array = compute.cast(kept, "float64").to_numpy(zero_copy_only=False)
    except pyarrow.ArrowInvalid:  # text, or a number in a spelling that only Python accepts
        return parse_numbers(values.to_pylist(), missing_values)
    return numbers


def missing_words(missing_values: Collection[str]) -> frozenset[str]:
    """Trimmed words that mark a missing value."""
    return frozenset((*(word.strip() for word in missing_values), *_NAN))
