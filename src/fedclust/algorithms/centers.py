"""Base classes of algorithms over centres: state, messages, and stopping rule."""

from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from ..core import (
    Algorithm,
    AnyAlgorithm,
    ConfigError,
    Data,
    Dims,
    Empty,
    Message,
    Record,
    Role,
    Schema,
    Stacked,
    Summed,
    checks,
)
from ..core.message import round_to_grid
from ..kernels import k_means, match_centers, memberships, nearest
from ..kernels.grid import Grid
from ..typing import Array, BoolArray, FloatArray, Rng


@dataclass(frozen=True, eq=False)
class CenterState(Record):
    """The server's state: centres, and how far they moved in the last round."""

    centers: Annotated[FloatArray, Dims("C", "F")]
    round: int
    shift: float

    def move_to(self, centers: FloatArray) -> Self:
        """The state after a round; the shift is the Frobenius norm of the change."""
        shift = float(np.linalg.norm(centers - self.centers))
        return replace(self, centers=centers, round=self.round + 1, shift=shift)


@dataclass(frozen=True, eq=False)
class Centers(Record):
    """What the server broadcasts: the current centres."""

    centers: Annotated[FloatArray, Dims("C", "F")]


@dataclass(frozen=True, eq=False)
class Sums(Summed):
    """Weights and weighted sums per cluster."""

    weight: Annotated[FloatArray, Dims("C")]
    total: Annotated[FloatArray, Dims("C", "F")]
    support: Annotated[FloatArray | None, Dims("C", stays=True)] = None  # records behind each row

    def on_grid(self, grid: Grid) -> Self:
        """Round as the kernels do: values are relative to the middle of their bounds."""
        if self.weight.dtype == np.int64:
            return self
        moved = self.total - self.weight[:, None] * grid.offset
        return type(self)(round_to_grid(self.weight, grid.mass), round_to_grid(moved, grid.unit))

    def off_grid(self, grid: Grid) -> Self:
        weight = self.weight / grid.mass
        return type(self)(weight, self.total / grid.unit + weight[:, None] * grid.offset)


@dataclass(frozen=True, eq=False)
class CellSums(Sums):
    """Weights and weighted sums of the observed cells, per cluster and column."""

    weight: Annotated[FloatArray, Dims("C", "F")]

    def on_grid(self, grid: Grid) -> Self:
        if self.weight.dtype == np.int64:
            return self
        moved = self.total - self.weight * grid.offset
        return type(self)(round_to_grid(self.weight, grid.mass), round_to_grid(moved, grid.unit))

    def off_grid(self, grid: Grid) -> Self:
        weight = self.weight / grid.mass
        return type(self)(weight, self.total / grid.unit + weight * grid.offset)


@dataclass(frozen=True, eq=False)
class Candidates(Stacked):
    """A client's local centres, and the weight of each."""

    centers: Annotated[FloatArray, Dims("K", "F")]
    weight: Annotated[FloatArray, Dims("K")]
    support: Annotated[FloatArray | None, Dims("K", stays=True)] = None  # records behind each row

    @classmethod
    def empty(cls, n_features: int) -> Self:
        """A message without any local centre."""
        return cls(np.empty((0, n_features)), np.empty(0), np.empty(0))

    def keep_supported(self, min_count: int) -> Self:
        """Keep only the local centres of at least `min_count` records."""
        return self.keep(np.asarray(self.support) >= min_count)


S = TypeVar("S", bound=CenterState)
U = TypeVar("U", bound=Message)


@dataclass(frozen=True, eq=False)
class CenterAlgorithm(Algorithm[S, Centers, U], Generic[S, U]):
    """In each round: broadcast centres, merge the clients' replies, move the centres.

    A run ends when a round moves the centres by at most ``tol`` times their spread around their
    middle, so that the unit of the data does not matter. With ``absolute_tol`` the limit is ``tol``
    itself, as in the papers.
    """

    n_clusters: Annotated[int, Role.CLUSTERS]
    init: Annotated[FloatArray | None, Role.CLUSTERS] = None  # (C, F)
    max_rounds: Annotated[int, Role.FREE] = 300
    tol: float = 1e-6
    absolute_tol: bool = False

    seeding: ClassVar[str | None] = "micro-clusters"

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")
        checks.centers(self)
        checks.integer(self, "max_rounds")
        checks.number(self, "tol")
        checks.boolean(self, "absolute_tol")

    def start(self, schema: Schema, rng: Rng) -> S:
        if self.init is None:
            return self.initial_state(
                rng.uniform(*schema.box(), (self.n_clusters, schema.n_features))
            )
        if self.init.shape[1] != schema.n_features:
            width = self.init.shape[1]
            raise ConfigError(f"init has {width} columns, but the data have {schema.n_features}")
        return self.initial_state(np.array(self.init, dtype=np.float64))

    def initial_state(self, centers: FloatArray) -> S:
        """The state before the first round."""
        return cast(S, CenterState(centers, 0, np.inf))

    def broadcast(self, state: S) -> Centers:
        return Centers(state.centers)

    def done(self, state: S) -> bool:
        return state.round >= self.max_rounds or state.shift <= self.tol * self.unit(state.centers)

    def unit(self, centers: FloatArray) -> float:
        """The unit of tolerances: the spread of the centres, or 1 with ``absolute_tol``."""
        if self.absolute_tol:
            return 1.0
        # Medians: one centre far from all rows, which never moves, must not raise the tolerance.
        middle = _median(centers)
        spread = np.sqrt(len(centers) * _median(((centers - middle) ** 2).sum(axis=1)))
        # Coinciding centres have no spread but rounding errors.
        return float(max(spread, 1e-9 * np.linalg.norm(middle)))

    def model(self, state: S) -> FloatArray:
        return state.centers

    def rival_steps(self, init: FloatArray, *, step: bool) -> AnyAlgorithm | None:
        """The query that compares starts, and lets each take a step; None: starts do not race."""
        return None

    def assign(self, state: Any, data: Data) -> Array:
        return _assign(self, self.model(state), data)


def _median(values: FloatArray) -> Any:
    """The median along the first axis, as `np.median` gives it, in a tenth of the time."""
    ordered, half = np.sort(values, axis=0), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


@dataclass(frozen=True, eq=False)
class OneRound(Algorithm[CenterState, Empty, U], Generic[U]):
    """One round: clients send summaries, and the server computes centres from them."""

    n_clusters: Annotated[int, Role.CLUSTERS]

    def __post_init__(self) -> None:
        checks.integer(self, "n_clusters")

    def start(self, schema: Schema, rng: Rng) -> CenterState:
        return CenterState(np.zeros((self.n_clusters, schema.n_features)), 0, np.inf)

    def broadcast(self, state: CenterState) -> Empty:
        return Empty()

    @abstractmethod
    def centers(self, merged: U, rng: Rng) -> FloatArray:
        """Server: k centres from the merged message."""

    def server_step(self, state: CenterState, merged: U, rng: Rng) -> CenterState:
        return CenterState(self.centers(merged, rng), state.round + 1, 0.0)

    def done(self, state: CenterState) -> bool:
        return state.round >= 1

    def model(self, state: CenterState) -> FloatArray:
        return state.centers

    def assign(self, state: Any, data: Data) -> Array:
        return _assign(self, self.model(state), data)


def as_kind(kind: type[AnyAlgorithm], algorithm: AnyAlgorithm) -> AnyAlgorithm:
    """An algorithm of another class, with the settings that both have."""
    settings = {field.name: getattr(algorithm, field.name) for field in fields(cast(Any, kind))}
    return kind(**settings)


def _assign(algorithm: AnyAlgorithm, centers: FloatArray, data: Data) -> Array:
    """Memberships for fuzzy algorithms, otherwise the index of the nearest centre."""
    if algorithm.soft:
        return memberships(data.X, centers, algorithm.parameter("fuzzifier"))
    return nearest(data.X, centers)[0]


def find_supported(data: Data, centers: FloatArray, min_count: int) -> BoolArray:
    """Find the centres that are nearest to at least `min_count` of the client's records."""
    if min_count <= 1:
        return np.ones(len(centers), dtype=bool)
    labels = nearest(data.X, centers)[0]
    return np.bincount(labels, minlength=len(centers)) >= min_count


def cluster_candidates(
    candidates: Candidates,
    k: int,
    rng: Rng,
    *,
    weighted: bool,
    restarts: int,
    warm: bool = False,
    previous: FloatArray | None = None,
    greedy: bool = True,
    weighted_starts: bool = True,
) -> FloatArray:
    """Server: k-means over local centres, matched to the previous centres if there are any."""
    weight = candidates.weight if weighted else np.empty(0)
    # With fewer candidates than clusters, the remaining centres stay where they were.
    too_few = previous is not None and len(candidates.centers) < k
    start = previous if warm or too_few else None
    centers = k_means(
        candidates.centers,
        k,
        rng,
        weight,
        restarts=restarts,
        start=start,
        greedy=greedy,
        weighted_starts=weighted_starts,
    )
    return centers if previous is None else match_centers(centers, previous)
