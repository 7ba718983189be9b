"""Preflight of one column of one client, batch by batch."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..clustering.preparation import Column
from ..core.checks import LARGEST
from ..typing import Array, BoolArray, FloatArray

_MOSTLY = 0.5


class Finding(NamedTuple):
    """A problem of a column: its code, details for the client alone, whether it is blocking."""

    code: str
    detail: str = ""
    blocking: bool = True


class ColumnCheck:
    """Counts of missing and unusable values; it keeps one value, to see whether all equal it.

    It accumulates over batches, because a file that does not fit into memory is read once.
    """

    def __init__(self, column: Column) -> None:
        self._column = column
        self._rows = self._missing = self._outside = self._huge = 0
        self._first: Array | None = None
        self._varies = False
        self.error: Finding | None = None

    def add(self, rows: FloatArray) -> BoolArray:
        """Take in encoded values; which of these rows have a missing value here."""
        missing: BoolArray = np.asarray(np.isnan(rows).any(axis=1))
        self._rows, self._missing = self._rows + len(rows), self._missing + int(missing.sum())
        present = rows[~missing]
        if len(present):
            self._first = present[0] if self._first is None else self._first
            self._varies |= bool((present != self._first).any())
            self._outside += self._count_outside(present)
            self._huge += int((np.abs(present) > LARGEST).sum())
        return missing

    def _count_outside(self, present: Array) -> int:
        box = self._column.box
        if box is None:
            return 0
        return int(((present < box[:, 0]) | (present > box[:, 1])).sum())

    def findings(self) -> Iterator[Finding]:
        """All problems of the column."""
        if self.error:
            yield self.error
        elif self._missing == self._rows:
            yield Finding("all-missing")
        else:
            if self._missing > _MOSTLY * self._rows:
                share = f"{self._missing / self._rows:.0%}"
                yield Finding("mostly-missing", share, blocking=False)
            if not self._column.categories and not self._varies:
                yield Finding("constant", blocking=False)
            if self._huge:
                yield Finding("overflow", f"{self._huge} above {LARGEST:g}")
            if self._outside:
                yield Finding("out-of-bounds", str(self._outside))
