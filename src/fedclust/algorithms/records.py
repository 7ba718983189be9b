"""Base of algorithms over split columns: all owners have the same records, but other features.

A client's part of the centres is a function of the last broadcast, so clients keep no state. If the
first assignment is one record per cluster, the centres of the first round are those records, so the
first round is not special. The server keeps the weights of the last records of an empty cluster, so
that the cluster keeps its centre.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from ..core import (
    Algorithm,
    ConfigError,
    Data,
    Dims,
    MessageError,
    Record,
    Role,
    Schema,
    Summed,
    checks,
)
from ..core.algorithm import Partition
from ..core.message import round_to_grid
from ..kernels.columns import Distances, add_matrices, distance_change, weighted_means
from ..kernels.grid import Grid
from ..typing import BoolArray, FloatArray, IntArray, Rng

MESSAGE_DTYPES = ("float64", "float32")


@dataclass(frozen=True, eq=False)
class PartialDistances(Summed):
    """Squared distances over one owner's features; summed over owners, the squared distances."""

    d2: Annotated[FloatArray, Dims("N", "C")]

    @classmethod
    def merge(cls, messages: Sequence[Self]) -> Self:
        if messages[0].d2.dtype == np.int64:  # integers: masked, or about to be
            return super().merge(messages)
        # By blocks of records: in one process no owner's full matrix is held in memory.
        return cls(add_matrices([message.d2 for message in messages]))

    def is_empty(self) -> bool:
        return 0 in self.d2.shape  # distances of zero are a valid reply

    def on_grid(self, grid: Grid) -> Self:
        """Round on a finer grid than other sums: here only columns are summed, not records.

        Every column is rounded once, so that the sum has the same bits however columns are split.
        """
        d2: Any = self.d2
        parts = d2.by_column() if isinstance(d2, Distances) else (np.asarray(d2),)
        return type(self)(reduce(np.add, (round_to_grid(part, grid.square) for part in parts)))

    def off_grid(self, grid: Grid) -> Self:
        return type(self)(self.d2 / grid.square)


@dataclass(frozen=True, eq=False)
class RecordState(Record):
    """The server's state: distances of all records to all centres; no party has full centres."""

    d2: Annotated[FloatArray, Dims("N", "C")]
    labels: Annotated[IntArray, Dims("N")]  # the start; with k-means, later the assignment
    kept: Annotated[FloatArray, Dims("N", "E")]  # the weights that gave the centres of ...
    which: Annotated[IntArray, Dims("E")]  # ... these empty clusters
    round: int
    shift: float  # Frobenius norm of the change of the root distances
    size: float  # Frobenius norm of the root distances


D = TypeVar("D", bound=Record)


@dataclass(frozen=True, eq=False)
class RecordAlgorithm(Algorithm[RecordState, D, PartialDistances], Generic[D]):
    """In each round: broadcast an assignment of records, merge partial distances, reassign.

    A run ends when a round changes the matrix of root distances by at most ``tol`` times its
    Frobenius norm, or by at most ``tol`` itself with ``absolute_tol``, as in the paper.
    """

    n_clusters: Annotated[int, Role.CLUSTERS]
    # (C,) A record for each cluster, or (N,) a cluster per record.
    init: Annotated[IntArray | None, Role.FREE] = None
    max_rounds: Annotated[int, Role.FREE] = 300
    tol: float = 1e-6
    absolute_tol: bool = False
    message_dtype: str = (
        "float64"  # type of matrices on the wire; "float32" halves them, at seven digits
    )

    partition: ClassVar[Partition] = "vertical"
    seeding: ClassVar[str | None] = "vertical-k-means++"

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")
        checks.integer(self, "max_rounds")
        checks.number(self, "tol")
        checks.boolean(self, "absolute_tol")
        if self.message_dtype not in MESSAGE_DTYPES:
            raise ConfigError(
                f"{self.key}: message_dtype must be 'float64' or 'float32', "
                f"got {self.message_dtype!r}"
            )
        init = self.init
        if init is not None and (
            not isinstance(init, np.ndarray) or init.ndim != 1 or init.dtype.kind not in "iu"
        ):
            raise ConfigError(f"{self.key}: init must be a one-dimensional array of integers")

    @property
    def lossless(self) -> bool:
        return self.message_dtype == "float64"

    def start(self, schema: Schema, rng: Rng) -> RecordState:
        n, k = schema.records(), self.n_clusters
        if n < k:
            raise ConfigError(f"{self.key}: {n} records are too few for n_clusters={k}")
        init = rng.choice(n, k, replace=False) if self.init is None else self.init
        labels = _one_per_cluster(init, n) if len(init) == k else np.asarray(init, np.int32)
        counts = np.bincount(labels[labels >= 0], minlength=k)
        if len(labels) != n or labels.min() < -1 or len(counts) > k or not counts.all():
            raise ConfigError(
                f"{self.key}: init must name {k} different records out of {n}, or give each of "
                f"them one of the clusters 0 to {k - 1}, none of which may be empty"
            )
        unknown = np.broadcast_to(np.inf, (n, k))
        return RecordState(unknown, labels, np.empty((n, 0)), np.empty(0, int), 0, np.inf, 1.0)

    def client_step(self, down: D, data: Data, rng: Rng) -> PartialDistances:
        distances = Distances(data.X, self.local_centers(down, data.X), self.message_dtype)
        return PartialDistances(distances)  # type: ignore[arg-type]

    @abstractmethod
    def local_centers(self, down: D, X: FloatArray) -> FloatArray:
        """Owner: its columns of the centres (C, F_m), which are not sent."""

    @abstractmethod
    def weights(self, state: RecordState, clusters: IntArray) -> FloatArray:
        """Server: the weights (N, E) that give the centres of some clusters in the next round."""

    def update_distances(self, state: RecordState, d2: FloatArray) -> RecordState:
        """The state with the new distances and their change."""
        if state.round == 0:  # there are no distances yet
            return replace(state, d2=d2, round=1, size=distance_change(d2, d2)[1])
        shift, size = distance_change(d2, state.d2)
        return replace(state, d2=d2, round=state.round + 1, shift=shift, size=size)

    def keep_empty_centers(
        self, before: RecordState, state: RecordState, empty: BoolArray
    ) -> RecordState:
        """The state with the weights of empty clusters, which keep their centres."""
        now = np.flatnonzero(empty)
        if len(now) == 0 and len(before.which) == 0:
            return state
        still = np.isin(before.which, now)
        newly = np.setdiff1d(now, before.which)
        kept = np.hstack([before.kept[:, still], self.weights(before, newly)])
        return replace(state, kept=kept, which=np.concatenate([before.which[still], newly]))

    def done(self, state: RecordState) -> bool:
        unit = 1.0 if self.absolute_tol else state.size
        return state.round >= self.max_rounds or state.shift <= self.tol * unit

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"N": schema.records(), "C": self.n_clusters}


def check_assignment(labels: IntArray, low: int, high: int, n: int) -> None:
    """Owner: reject clusters or records that do not exist; compiled loops do not check them."""
    if len(labels) != n or (n and (labels.min() < low or labels.max() >= high)):
        raise MessageError(f"invalid broadcast: expected {n} integers from {low} to {high - 1}")


def check_weights(*given: FloatArray) -> None:
    """Owner: reject weights outside [0, 1].

    They keep centres within the records. A server could move other centres far out and learn from
    the overflow of sums.
    """
    if not all(((weights >= 0.0) & (weights <= 1.0)).all() for weights in given):
        raise MessageError("invalid broadcast: expected weights from 0 to 1")


def restore_kept(means: FloatArray, X: FloatArray, kept: FloatArray, which: IntArray) -> FloatArray:
    """Put the kept centres of empty clusters into an owner's part of the centres."""
    if len(which):
        means = means.copy()
        means[which] = weighted_means(X, kept)
    return means


def one_hot(labels: IntArray, clusters: IntArray, dtype: Any = np.float64) -> FloatArray:
    """Weight one in the cluster of the label, with a column for each of the given clusters."""
    hot: FloatArray = (labels[:, None] == clusters).astype(dtype)
    return hot


def _one_per_cluster(records: IntArray, n: int) -> IntArray:
    labels = np.full(n, -1, np.int32)
    valid = records[(records >= 0) & (records < n)]
    if len(valid) == len(records):
        labels[valid] = np.arange(len(valid))
    return labels
