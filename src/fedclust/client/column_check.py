"""What preflight learns of one column of one client, batch by batch."""

from collections.abc import Iterator

import numpy as np

from ..clustering.preparation import Column
from ..core import DataError
from ..core.checks import LARGEST
from ..typing import Array, BoolArray

_MANY_GAPS = 0.5


class Found:
    """Counts of a column's gaps and odd values; no value is kept but one, to see if all equal it.

    A small object that changes: a file that does not fit into memory is seen once.
    """

    def __init__(self, column: Column) -> None:
        self._column = column
        self._rows = self._gaps = self._outside = self._huge = 0
        self._first: Array | None = None
        self._varies = False
        self._refused = ""

    def gaps_in(self, values: Array) -> BoolArray:
        """Which of these rows have a gap here."""
        try:
            rows = self._column.encode(values, "")
        except DataError as problem:
            self._refused = str(problem).partition(f"{self._column.name!r} ")[2]
            return np.zeros(len(values), dtype=bool)
        gaps: BoolArray = np.asarray(np.isnan(rows).any(axis=1))
        self._rows, self._gaps = self._rows + len(rows), self._gaps + int(gaps.sum())
        there = rows[~gaps]
        if len(there):
            self._first = there[0] if self._first is None else self._first
            self._varies |= bool((there != self._first).any())
            self._outside += self._count_outside(there)
            self._huge += int((np.abs(there) > LARGEST).sum())
        return gaps

    def _count_outside(self, there: Array) -> int:
        box = self._column.box
        if box is None:
            return 0
        return int(((there < box[:, 0]) | (there > box[:, 1])).sum())

    def problems(self) -> Iterator[tuple[str, bool]]:
        """What is wrong, and whether it stops the study."""
        if self._refused:
            yield self._refused, True
        elif self._gaps == self._rows:
            yield "has no value at all", True
        else:
            if self._gaps > _MANY_GAPS * self._rows:
                yield f"is missing in most rows ({self._gaps / self._rows:.0%})", False
            if not self._column.categories and not self._varies:
                yield "has the same value in all rows", False
            if self._huge:
                yield (
                    f"has values whose squares are no numbers ({self._huge} beyond {LARGEST:g})",
                    True,
                )
            if self._outside:
                yield f"has values outside the public bounds ({self._outside})", True
