"""What is written in a text file, as values: one reading for whole files and for batches."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..typing import Array

_NAN = ("nan", "NaN", "NAN", "Nan")  # a gap whatever a study says: it is what a number is not


def number(text: str) -> float:
    """The number that a text is, or a ValueError; "1_0" is a code, and no ten."""
    if "_" in text:
        raise ValueError("not a number")
    return float(text)


def ids(values: Sequence[str]) -> Array:
    """Names of records, as they are written: as numbers they would lose zeros and last digits."""
    return np.array([value.strip() for value in values], dtype=object)


def words(values: Sequence[str], gaps: Collection[str]) -> Array:
    """Text without spaces around it, gaps as None."""
    none = gap_words(gaps)
    stripped = (value.strip() for value in values)
    return np.array([None if v in none else v for v in stripped], dtype=object)


def numbers(values: Sequence[str], gaps: Collection[str]) -> Array:
    """Numbers, gaps as NaN; a ValueError if there is a word."""
    none, stripped = gap_words(gaps), [value.strip() for value in values]
    read = number if "_" in "".join(stripped) else float  # hardly any file has one
    return np.array([np.nan if v in none else read(v) for v in stripped], dtype=float)


def numbers_or_words(values: Sequence[str], gaps: Collection[str]) -> Array:
    """Numbers if all values are; else words."""
    try:
        return numbers(values, gaps)
    except ValueError:
        return words(values, gaps)


def arrow_numbers(values: Any, gaps: Collection[str]) -> Array:
    """As `numbers`, of an Arrow column of text: faster where Arrow can read it."""
    import pyarrow
    from pyarrow import compute

    stripped = compute.utf8_trim_whitespace(values)
    is_gap = compute.is_in(stripped, value_set=pyarrow.array(sorted(gap_words(gaps))))
    kept = compute.if_else(is_gap, pyarrow.scalar(None, pyarrow.string()), stripped)
    try:
        found: Array = compute.cast(kept, "float64").to_numpy(zero_copy_only=False)
    except pyarrow.ArrowInvalid:  # a word, or a number in a spelling that only Python knows
        return numbers(values.to_pylist(), gaps)
    return found


def gap_words(gaps: Collection[str]) -> frozenset[str]:
    """The words that stand for a gap, without spaces around them, as values are compared."""
    return frozenset((*(word.strip() for word in gaps), *_NAN))
