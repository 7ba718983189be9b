"""What results do not show, decided from true totals.

The size of every cluster and the number of rows of every client are published. A count of a client
in a cluster is not, if it is below the minimum. Such a count could be computed from the totals and
the other counts of its line, so further counts are withheld until that is no longer possible.
Means and spreads of clusters with few rows are withheld, too.
"""

from typing import Any

import numpy as np

from ..typing import BoolArray, FloatArray, IntArray


def choose_withheld_clusters(sizes: IntArray, minimum: int, *, soft: bool) -> BoolArray:
    """Which clusters are not described: those of fewer than `minimum` rows, but not none.

    The mean of all rows minus that of the clusters described is the mean of the others. So these
    must have `minimum` rows together. This does not help hard clusters: their means are the
    centres, which the model needs.
    """
    hidden: BoolArray = (sizes > 0) & (sizes < minimum)
    if soft and hidden.any():
        for c in np.argsort(sizes, kind="stable"):
            if sizes[hidden].sum() >= minimum:
                break
            hidden[c] = sizes[c] > 0
    return hidden


def choose_withheld_counts(counts: IntArray, minimum: int) -> BoolArray:
    """Which counts of clients (rows) in clusters (columns) are withheld.

    A reader knows the totals of all lines and the counts that are shown. By these, a withheld count
    below the minimum could be zero, or larger than it is by `minimum`. Any other withheld count has
    a range of at least `minimum`. Ranges are narrower only where the totals alone narrow them, and
    what the totals alone determine is shown. This is about linear equations: a reader who considers
    how counts were chosen may exclude some values.
    """
    hidden: BoolArray = np.zeros(counts.shape, dtype=bool)
    lines = np.ix_(counts.any(axis=1), counts.any(axis=0))  # a total of zero determines its line
    table = counts[lines].astype(float)
    if minimum > 1 and min(table.shape) > 1:  # with a single line the counts are the totals
        hidden[lines] = _choose(table, minimum)
    return hidden


def _choose(counts: FloatArray, minimum: int) -> BoolArray:
    table = _Table(counts, minimum)
    hidden = counts < minimum
    while True:
        narrow = np.argwhere(table.find_narrow(hidden))
        if len(narrow) == 0:
            return hidden
        for row, column in narrow.tolist():
            hidden = table.widen(hidden, row, column)


class _Table:
    """Counts whose lines have known totals, and the ranges that they need.

    A count grows if one of its row and one of its column shrink, and the count where the lines of
    these two cross grows. It shrinks the other way round. All four, the corners of a rectangle,
    must be hidden.
    """

    def __init__(self, counts: FloatArray, minimum: int) -> None:
        self._counts = counts
        up, down = _find_ranges(counts, np.ones(counts.shape, dtype=bool))
        few = counts < minimum
        self._up = np.where(few, np.minimum(up, minimum), 0.0)
        self._down = np.where(few, down, 0.0)
        self._width = np.where(few, 0.0, np.minimum(up + down, minimum))
        self._known_up = np.zeros(counts.shape)  # by a single rectangle

    def find_narrow(self, hidden: BoolArray) -> BoolArray:
        """Which of the hidden counts are not known to have the range that they need."""
        up, down = _find_ranges(self._counts, hidden)
        up = np.maximum(up, self._known_up)
        return hidden & ((up < self._up) | (down < self._down) | (up + down < self._width))

    def widen(self, hidden: BoolArray, row: int, column: int) -> BoolArray:
        """Hide a rectangle around a count, unless it has the range that it needs.

        It is the rectangle that gives the largest range, and among several the one with the fewest
        rows that were shown.
        """
        crossing, taken = self._counts, np.minimum(*_lines(self._counts, row, column))
        others = np.ones(hidden.shape, dtype=bool)
        others[row], others[:, column] = False, False
        ready = others & hidden & np.logical_and(*_lines(hidden, row, column))
        up, down = np.where(ready, taken, 0.0).max(), np.where(ready, crossing, 0.0).sum()
        self._known_up[row, column] = max(self._known_up[row, column], up)
        need_up, need_down, width = (n[row, column] for n in (self._up, self._down, self._width))
        enough = (
            up >= need_up and down >= need_down and up + min(down, crossing[row, column]) >= width
        )
        if enough or (ready == others).all():
            return hidden
        gain = np.minimum(taken, max(need_up, width)) + np.minimum(crossing, max(need_down, width))
        shown = np.where(hidden, 0.0, self._counts)
        cost = shown + np.add(*_lines(shown, row, column))
        best = np.lexsort((cost.ravel(), -gain.ravel(), (ready | ~others).ravel()))[0]
        corner = np.unravel_index(best, hidden.shape)
        hidden = hidden.copy()
        hidden[np.ix_([row, corner[0]], [column, corner[1]])] = True
        return hidden


def _lines(table: Any, row: int, column: int) -> tuple[Any, Any]:
    """The row and the column of a cell, so that they combine to a table."""
    return table[row][None], table[:, [column]]


def _find_ranges(counts: FloatArray, hidden: BoolArray) -> tuple[FloatArray, FloatArray]:
    """How much larger and smaller each hidden count could be, at least; exact if all are hidden."""
    held, mask = np.where(hidden, counts, 0.0), hidden.astype(float)
    up = np.maximum(_add_partners(held, mask), _add_partners(held.T, mask.T).T)
    crossing = mask @ held.T @ mask - held.sum(axis=1)[:, None] - held.sum(axis=0) + held
    return up, np.minimum(held, crossing)


def _add_partners(held: FloatArray, mask: FloatArray) -> FloatArray:
    """How much each count can take over from its column, as its row gives as much in return.

    Only those rows take part that can take from wherever the row of the count gives.
    """
    gives = (held > 0).astype(float)
    partners = gives @ mask.T == gives.sum(axis=1)[:, None]
    np.fill_diagonal(partners, val=False)
    taken: FloatArray = np.minimum(partners @ held, held.sum(axis=1)[:, None] - held)
    return taken
