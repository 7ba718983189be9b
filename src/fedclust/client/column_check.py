"""Preflight of one column of one client, batch by batch."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..clustering.preparation import Column
from ..clustering.preparation.column import ColumnError, StrayValues, code_of
from ..core.checks import LARGEST
from ..data.kinds import Kind, Strays
from ..typing import Array, BoolArray, FloatArray

_MOSTLY = 0.5
_KEPT = 1_000  # different words that are counted one by one
_OTHERS = "other words"


class Finding(NamedTuple):
    """A problem of a column: its code, details for the client alone, whether it is blocking."""

    code: str
    detail: str = ""
    blocking: bool = True
    row: int | None = None  # the first row that has it


class ColumnCheck:
    """Counts of missing and unusable values; it keeps one value, to see whether all equal it.

    It accumulates over batches, because a file that does not fit into memory is read once.
    """

    def __init__(self, column: Column) -> None:
        self._column = column
        self._rows = self._missing = self._present = self._outside = self._huge = 0
        self._first: Array | None = None
        self._first_outside: int | None = None
        self._varies = False
        self._strays = Strays(0, Counter(), None, Kind.DATES if column.derive else Kind.NUMBERS)
        self._error: Finding | None = None

    def add(self, rows: FloatArray) -> BoolArray:
        """Take in encoded values; which of these rows have a missing value here."""
        missing: BoolArray = np.asarray(np.isnan(rows).any(axis=1))
        present = rows[~missing]
        if len(present):
            self._first = present[0] if self._first is None else self._first
            self._varies |= bool((present != self._first).any())
            self._count_outside(rows)
            self._huge += int((np.abs(present) > LARGEST).sum())
        self._present += len(present)
        self._rows, self._missing = self._rows + len(rows), self._missing + int(missing.sum())
        return missing

    def fail(self, error: ColumnError, n_rows: int) -> None:
        """Take in values that cannot be encoded."""
        if isinstance(error, StrayValues) and error.strays.words:
            self._add_strays(error.strays)
        elif self._error is None:
            row = None if error.row is None else self._rows + error.row
            self._error = Finding(error.problem, error.detail, row=row)
        self._rows += n_rows

    def _add_strays(self, new: Strays) -> None:
        words, before = self._strays.words.copy(), self._strays
        for word, n in new.words.items():
            words[word if word in words or len(words) < _KEPT else _OTHERS] += n
        first = before.first
        if first is None and new.first is not None:
            first = self._rows + new.first
        self._strays = Strays(before.fitting + new.fitting, words, first, before.kind)

    def _count_outside(self, rows: FloatArray) -> None:
        box = self._column.box
        if box is None or self._column.clip:
            return
        outside = np.asarray(((rows < box[:, 0]) | (rows > box[:, 1])).any(axis=1))
        if outside.any() and self._first_outside is None:
            self._first_outside = self._rows + int(outside.argmax())
        self._outside += int(outside.sum())

    def findings(self) -> Iterator[Finding]:
        """All problems of the column."""
        if self._error:
            yield self._error
        elif self._strays.words:
            found = self._strays
            strays = Strays(found.fitting + self._present, found.words, found.first, found.kind)
            yield Finding(code_of(strays), str(strays), row=strays.first)
        elif self._missing == self._rows:
            yield Finding("all-missing")
        else:
            yield from self._find_odd_values()

    def _find_odd_values(self) -> Iterator[Finding]:
        if self._missing > _MOSTLY * self._rows:
            share = f"{self._missing / self._rows:.0%}"
            yield Finding("mostly-missing", share, blocking=False)
        if not self._column.categories and not self._varies:
            yield Finding("constant", blocking=False)
        if self._huge:
            yield Finding("overflow", f"{self._huge} above {LARGEST:g}")
        if self._outside:
            yield Finding("out-of-bounds", str(self._outside), row=self._first_outside)
