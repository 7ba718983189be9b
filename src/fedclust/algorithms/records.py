"""What algorithms over split columns share: records are common, features are not.

A client's part of the centres is a function of what it was last sent, so clients keep no state. If
the first assignment is one record per cluster, the centres of the first round are those records:
no special first round. A cluster that nobody is in keeps its centre by keeping the weights that
made it.
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
        if messages[0].d2.dtype == np.int64:  # masked, or to be: whole numbers, made whole
            return super().merge(messages)
        # By blocks of records: in one process no single owner's matrix is ever made whole.
        return cls(add_matrices([message.d2 for message in messages]))

    def is_empty(self) -> bool:
        return 0 in self.d2.shape  # distances of zero are an answer too

    def on_grid(self, grid: Grid) -> Self:
        """Finer than other sums: only columns add up here, not records.

        Every column is rounded once, so that the sum has the same bits however columns are split.
        """
        found: Any = self.d2
        parts = found.by_column() if isinstance(found, Distances) else (np.asarray(found),)
        return type(self)(reduce(np.add, (round_to_grid(part, grid.square) for part in parts)))

    def off_grid(self, grid: Grid) -> Self:
        return type(self)(self.d2 / grid.square)


@dataclass(frozen=True, eq=False)
class RecordState(Record):
    """The server's state: distances of all records to all centres, which nobody holds whole."""

    d2: Annotated[FloatArray, Dims("N", "C")]
    labels: Annotated[IntArray, Dims("N")]  # the start; then, for k-means, the assignment
    kept: Annotated[FloatArray, Dims("N", "E")]  # the weights that made the centres of ...
    which: Annotated[IntArray, Dims("E")]  # ... these clusters, which nobody is in
    round: int
    shift: float  # Frobenius norm of the change of the root distances
    size: float  # Frobenius norm of the root distances


D = TypeVar("D", bound=Record)


@dataclass(frozen=True, eq=False)
class RecordAlgorithm(Algorithm[RecordState, D, PartialDistances], Generic[D]):
    """Rounds of: broadcast an assignment of records, merge partial distances, assign anew.

    A run ends when a round changes the matrix of root distances by at most ``tol`` times its
    Frobenius norm, or by at most ``tol`` itself with ``absolute_tol``, as the paper has it.
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
            raise ConfigError(f"{self.key}: init must be an array of whole numbers, one dimension")

    @property
    def lossless(self) -> bool:
        return self.message_dtype == "float64"

    def start(self, schema: Schema, rng: Rng) -> RecordState:
        n, k = schema.records(), self.n_clusters
        if n < k:
            raise ConfigError(f"{self.key}: {n} records cannot make n_clusters={k} clusters")
        init = rng.choice(n, k, replace=False) if self.init is None else self.init
        labels = _one_per_cluster(init, n) if len(init) == k else np.asarray(init, np.int32)
        counts = np.bincount(labels[labels >= 0], minlength=k)
        if len(labels) != n or labels.min() < -1 or len(counts) > k or not counts.all():
            raise ConfigError(
                f"{self.key}: init must name {k} different records out of {n}, or give each of "
                f"them one of the clusters 0 to {k - 1}, none of which may be empty"
            )
        nowhere = np.broadcast_to(np.inf, (n, k))
        return RecordState(nowhere, labels, np.empty((n, 0)), np.empty(0, int), 0, np.inf, 1.0)

    def client_step(self, down: D, data: Data, rng: Rng) -> PartialDistances:
        distances = Distances(data.X, self.local_centers(down, data.X), self.message_dtype)
        return PartialDistances(distances)  # type: ignore[arg-type]

    @abstractmethod
    def local_centers(self, down: D, X: FloatArray) -> FloatArray:
        """Owner: its part of the centres (C, F_m), which stays with it."""

    @abstractmethod
    def weights(self, state: RecordState, clusters: IntArray) -> FloatArray:
        """Server: the weights (N, E) that make the centres of some clusters in the next round."""

    def update_distances(self, state: RecordState, d2: FloatArray) -> RecordState:
        """The state with the new distances, and how far they are from the old."""
        if state.round == 0:  # there are no old ones
            return replace(state, d2=d2, round=1, size=distance_change(d2, d2)[1])
        shift, size = distance_change(d2, state.d2)
        return replace(state, d2=d2, round=state.round + 1, shift=shift, size=size)

    def keep_empty_centers(
        self, before: RecordState, state: RecordState, empty: BoolArray
    ) -> RecordState:
        """The state with the weights of clusters that nobody is in any more."""
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
    """Owner: refuse numbers of clusters or records that there are not: loops trust them."""
    if len(labels) != n or (n and (labels.min() < low or labels.max() >= high)):
        raise MessageError(f"expected {n} numbers from {low} to {high - 1} from the server")


def check_weights(*given: FloatArray) -> None:
    """Owner: refuse weights outside [0, 1].

    Only then is a centre within the records; others could be moved out, to see when sums overflow.
    """
    if not all(((weights >= 0.0) & (weights <= 1.0)).all() for weights in given):
        raise MessageError("expected weights from 0 to 1 from the server")


def restore_kept(means: FloatArray, X: FloatArray, kept: FloatArray, which: IntArray) -> FloatArray:
    """An owner's part of the centres, where some clusters keep the centre they had."""
    if len(which):
        means = means.copy()
        means[which] = weighted_means(X, kept)
    return means


def one_hot(labels: IntArray, clusters: IntArray, dtype: Any = np.float64) -> FloatArray:
    """Weight one in the cluster of the label, as a column for each cluster asked for."""
    hot: FloatArray = (labels[:, None] == clusters).astype(dtype)
    return hot


def _one_per_cluster(records: IntArray, n: int) -> IntArray:
    labels = np.full(n, -1, np.int32)
    there = records[(records >= 0) & (records < n)]
    if len(there) == len(records):
        labels[there] = np.arange(len(there))
    return labels
