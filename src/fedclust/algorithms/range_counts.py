"""Find a range for each column from counts of values in bins, first logarithmic, then equal ones.

The messages are summed, so masks and noise can protect them. No minimum or maximum is sent: see
`range_grid` for the ends of a range. Values beyond it are clipped by the caller.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ..core import ConfigError, Data, Dims, MessageError, Record, Role, Schema, Traits, checks
from ..typing import FloatArray, IntArray, Rng
from .bounded import STEPS, BoundedAlgorithm, IntegerSums
from .range_grid import TAIL, find_coarse_range, find_end, linear_edges, log_edges

MOST_BINS = 256  # of a column, in one round
ROUNDS = 3
NOISY_ROUNDS = 2  # each is paid for
_BINS, _NOISY_BINS = 128, 32  # of equal width
_COARSE = 32  # bins: a range of fewer is counted again in finer ones
_MOST = 0.5  # of the values: if more were clipped, there are too few of them
_SURE = 6.0  # standard deviations of the noise from which a count is taken for values


@dataclass(frozen=True, eq=False)
class RangeState(Record):
    """The edges of the round, and the ranges so far; NaN where there are too few values."""

    round: int
    over: bool
    edges: Annotated[FloatArray, Dims("P", "B")]
    low: Annotated[FloatArray, Dims("P")]
    high: Annotated[FloatArray, Dims("P")]
    below: Annotated[FloatArray, Dims("P")]  # values that are clipped
    above: Annotated[FloatArray, Dims("P")]
    count: Annotated[FloatArray, Dims("P")]  # of all values


@dataclass(frozen=True, eq=False)
class RangeEdges(Record):
    """The edges between the bins of each column, ascending; the outermost bins are open."""

    edges: Annotated[FloatArray, Dims("P", "B")]


@dataclass(frozen=True, eq=False)
class RangeCounts(BoundedAlgorithm[RangeState, RangeEdges]):
    """Counts in bins at the clients; edges of the next bins, and at last ranges, at the server."""

    # Columns whose ranges are wanted; each record adds one to a bin of each of them.
    places: Annotated[IntArray, Role.COLUMNS]  # (P,)
    whole_rows: bool = False  # only rows without a missing value count
    tail: Annotated[int, Role.RECORDS] = TAIL  # values by which an end is found
    alike: Annotated[int, Role.FREE] = 1  # rows with the same values, which count as one
    noise: float = 0.0  # standard deviation of the noise of a count
    most_bins: Annotated[int, Role.BINS] = MOST_BINS

    key: ClassVar[str] = "ranges"
    traits: ClassVar[Traits] = replace(BoundedAlgorithm.traits, missing=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        places = np.asarray(self.places)
        fits = places.ndim == 1 and len(places) and places.dtype.kind in "iu"
        if not fits or places.min() < 0 or places.max() >= len(self.low):
            raise ConfigError(f"{self.key}: places must be positions of columns")
        checks.boolean(self, "whole_rows")
        checks.integer(self, "tail", TAIL)
        checks.integer(self, "alike")
        checks.number(self, "noise")
        checks.integer(self, "most_bins", MOST_BINS)

    @property
    def shape(self) -> dict[str, int]:
        return {**super().shape, "P": len(self.places)}

    def start(self, schema: Schema, rng: Rng) -> RangeState:
        P = len(self.places)
        unknown, none = np.full(P, np.nan), np.zeros(P)
        edges = np.tile(log_edges(), (P, 1))
        return RangeState(0, False, edges, unknown, unknown, none, none, none)

    def broadcast(self, state: RangeState) -> RangeEdges:
        return RangeEdges(state.edges)

    def client_step(self, down: RangeEdges, data: Data, rng: Rng) -> IntegerSums:
        down.check(self.shape)
        edges = down.edges
        if edges.shape[1] >= self.most_bins or not (np.diff(edges, axis=1) > 0).all():
            raise MessageError(f"{self.key}: edges must ascend, and be fewer than {self.most_bins}")
        if data.X.shape[1] != len(self.low):
            raise MessageError(f"{self.key}: bounds of {len(self.low)} columns, other rows")
        missing = np.isnan(data.X)
        whole = ~missing.any(axis=1)
        counts = np.zeros((len(self.places), edges.shape[1] + 1), np.int64)
        for p, place in enumerate(self.places.tolist()):
            kept = whole if self.whole_rows else ~missing[:, place]
            bins = np.searchsorted(edges[p], data.X[kept, place], side="right")
            counts[p] = np.bincount(bins, minlength=counts.shape[1])
        return IntegerSums((counts * np.int64(STEPS)).ravel())

    def sensitivity(self, down: RangeEdges) -> float:
        """A record is in one bin of each column."""
        return float(np.sqrt(len(self.places)) * STEPS)

    def server_step(self, state: RangeState, merged: IntegerSums, rng: Rng) -> RangeState:
        P, B = state.edges.shape
        if merged.values.size != P * (B + 1):
            raise MessageError(f"{self.key}: expected counts of {P * (B + 1)} bins")
        counts = merged.values.astype(np.float64).reshape(P, B + 1) / STEPS
        state = replace(state, round=state.round + 1, count=np.maximum(counts.sum(axis=1), 0.0))
        counts = np.floor(counts / self.alike) if self.alike > 1 else counts
        if state.round == 1:
            return self._narrow(state, counts)
        return self._refine(state, counts)

    def done(self, state: RangeState) -> bool:
        return bool(state.over)

    def model(self, state: RangeState) -> RangeState:
        return state

    @property
    def lossless(self) -> bool:
        return True

    @property
    def _least(self) -> float:
        """Counts up to this may be noise."""
        return _SURE * self.noise

    @property
    def _bins(self) -> int:
        return _NOISY_BINS if self.noise else _BINS

    def _narrow(self, state: RangeState, counts: FloatArray) -> RangeState:
        """Equal bins over all but a few values."""
        low, high = state.low.copy(), state.high.copy()
        for p, row in enumerate(counts):
            found = find_coarse_range(row, self._least)
            low[p], high[p] = (np.nan, np.nan) if found is None else found
        known = not np.isnan(low).any()
        edges = self._edges_over(low, high) if known else state.edges
        return replace(state, over=not known, edges=edges, low=low, high=high)

    def _edges_over(self, low: FloatArray, high: FloatArray) -> FloatArray:
        return np.stack([linear_edges(a, b, self._bins) for a, b in zip(low, high, strict=True)])

    def _refine(self, state: RangeState, counts: FloatArray) -> RangeState:
        """The ranges by these bins; finer ones for a last round if some range has few of them.

        Finer bins move an end only if no values are clipped there, before or after. So ends for
        different tails are those of the same bins.
        """
        low, high = state.low.copy(), state.high.copy()
        below, above = state.below.copy(), state.above.copy()
        narrow = False
        for p, row in enumerate(counts):
            lower = find_end(row[::-1], self.tail, self._least)
            upper = find_end(row, self.tail, self._least)
            edges, n, first = state.edges[p], state.edges.shape[1], state.round == 2
            if lower is not None and (first or lower.beyond == below[p] == 0):
                low[p], below[p] = edges[n - lower.edge], lower.beyond
            if upper is not None and (first or upper.beyond == above[p] == 0):
                high[p], above[p] = edges[upper.edge - 1], upper.beyond
            lost = lower is None or upper is None or below[p] + above[p] > _MOST * row.sum()
            if first and (lost or not low[p] < high[p]):
                low[p] = high[p] = np.nan
            narrow |= bool(high[p] - low[p] < _COARSE * (edges[1] - edges[0]))
        last = NOISY_ROUNDS if self.noise else ROUNDS
        known = not np.isnan(low).any()
        over = not (known and narrow and state.round < last)
        edges = state.edges if over else self._edges_over(low, high)
        return replace(state, over=over, edges=edges, low=low, high=high, below=below, above=above)
