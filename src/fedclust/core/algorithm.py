"""An algorithm: a small frozen dataclass of its own configuration, with one step for each side."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    cast,
    get_args,
    get_origin,
)

import numpy as np

from ..kernels.grid import Grid
from ..typing import Array, FloatArray, IntArray, Rng
from .checks import LARGEST, largest_by_column
from .errors import ConfigError, DataError
from .host import to_host
from .message import Message, Record
from .traits import Role, Traits

Partition = Literal["horizontal", "vertical"]

# Beyond these limits squared distances overflow, or all of them underflow to zero.
_LARGEST = {np.dtype(np.float64): LARGEST, np.dtype(np.float32): 1e15}
_SMALLEST = {np.dtype(np.float64): 1e-140, np.dtype(np.float32): 1e-15}


@dataclass(frozen=True, eq=False)
class Data:
    """One client's rows. `Data.of` checks them once, when they enter.

    A missing cell is NaN. Only algorithms with the trait `missing` get such rows.
    """

    X: FloatArray  # (N, F)  C-contiguous, float64 or float32; NaN: a missing cell
    weight: FloatArray  # (N,) positive, or (0,) where every row counts once
    grid: Grid | None = None  # set where the plan needs integer sums
    # The client's own policy (fedclust.privacy.ClientPolicy); it never leaves the client.
    policy: Any = None
    form: bytes = b""  # columns and scaling as the server requested them; part of the query
    grouped: int = 0  # rows are means of groups of at least so many; 0: they are as they came

    @cached_property
    def extent(self) -> tuple[FloatArray, FloatArray]:
        """Minimum and maximum of the observed cells of each column; NaN where there are none.

        They are values of records and must not be sent.
        """
        return np.fmin.reduce(self.X, axis=0), np.fmax.reduce(self.X, axis=0)

    @classmethod
    def of(
        cls,
        X: Any,
        weight: Any = None,
        *,
        client: str = "this client",
        names: Sequence[str] | None = None,
        missing: bool = False,
    ) -> Self:
        """Check rows and weights: arrays, nested lists, or anything else that NumPy can read.

        With `missing`, NaN is a missing cell, and a row without any value is left out.
        """
        rows = _read_table(X, client)
        _check_values(rows, client, names, missing)
        observed = ~np.isnan(rows).all(axis=1) if missing else np.ones(len(rows), dtype=bool)
        if weight is None:
            return cls(rows if observed.all() else rows[observed], np.empty(0))
        try:
            w = np.asarray(weight, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{client}: sample_weight holds values that are not numbers") from None
        if w.shape != (len(rows),):
            raise DataError(f"{client}: {len(rows)} rows, but sample_weight of shape {w.shape}")
        if not np.isfinite(w).all() or (w < 0).any():
            raise DataError(f"{client}: sample_weight must be finite and not negative")
        counted = (w > 0) & observed  # a row of weight zero is dropped
        return cls(rows[counted], w[counted])

    @cached_property
    def has_missing(self) -> bool:
        """Whether any cell is missing."""
        # A minimum is NaN if any value is, and needs no second table.
        return self.X.dtype.kind == "f" and self.X.size > 0 and bool(np.isnan(self.X.min()))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.X.shape[0], self.X.shape[1]


def _read_table(X: Any, client: str) -> FloatArray:
    X = to_host(X)
    if hasattr(X, "mask") and np.ma.is_masked(X):  # the first use of np.ma imports it
        raise DataError(f"{client}: some values are masked; drop or fill them first")
    if hasattr(X, "toarray"):
        raise DataError(f"{client}: sparse tables are not supported; give X.toarray()")
    try:
        rows = np.asarray(X)
        is_complex = rows.dtype.kind == "c"
        if rows.dtype not in _LARGEST and not is_complex:
            rows = rows.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise DataError(f"{client}: not all values are numbers ({problem})") from None
    if is_complex:
        raise DataError(f"{client}: complex numbers are not supported; give real numbers")
    if rows.ndim != 2:
        raise DataError(f"{client}: expected a table of rows and columns, got shape {rows.shape}")
    if rows.shape[1] == 0:
        raise DataError(f"{client}: the table has no columns")
    return np.ascontiguousarray(rows)


def _check_values(
    rows: FloatArray, client: str, names: Sequence[str] | None, missing: bool
) -> None:
    if rows.size == 0:
        return
    largest = largest_by_column(rows, missing=missing)
    for column in np.flatnonzero(~np.isfinite(largest)).tolist():
        name = _column(names, column)
        if missing:
            raise DataError(f"{client}: column {name} has infinite values; drop or replace them")
        bad = np.flatnonzero(~np.isfinite(rows[:, column]))
        raise DataError(
            f"{client}: column {name} has {len(bad)} missing or infinite values "
            f"(first in row {bad[0]}); drop or fill them first"
        )
    top = largest.max()
    if top > _LARGEST[rows.dtype] or 0 < top < _SMALLEST[rows.dtype]:
        name = _column(names, int(largest.argmax()))
        raise DataError(
            f"{client}: column {name} reaches {top:g}, where squared distances leave the range of "
            f"{rows.dtype}; rescale the data first"
        )


def _column(names: Sequence[str] | None, column: int) -> str:
    return repr(str(names[column])) if names is not None else str(column)


@dataclass(frozen=True, eq=False)
class Schema:
    """What is public before the first round: the number of columns and, if known, their bounds."""

    n_features: int
    low: FloatArray | None = None  # (F,)
    high: FloatArray | None = None  # (F,)
    n_records: int | None = None  # with split columns: the number of shared records
    missing: bool = False  # whether rows may have missing cells
    # (F,) 0 for a number; columns of 0 and 1 that one column of categories became share a number
    blocks: IntArray | None = None  # None: all are numbers
    height: FloatArray | None = None  # (F,) of a category in its column of a block; None: 1

    def records(self) -> int:
        """The number of records that the owners of columns share."""
        if self.n_records is None:
            raise ConfigError(
                "split columns need a number of records: give Schema(F, n_records=...)"
            )
        return self.n_records

    def box(self) -> tuple[FloatArray, FloatArray]:
        """The public bounds. The data's own extremes are values of records and are never used."""
        if self.low is None or self.high is None:
            raise ConfigError(
                "the features have no public bounds: give bounds=(low, high) (in core: "
                "Schema(F, low=..., high=...)), or an init that needs none, such as 'one-shot'"
            )
        return self.low, self.high


class Rule(NamedTuple):
    """What a client withholds: small clusters, or its entire reply if it has few records."""

    min_count: int = 1
    min_samples: int = 1


State = TypeVar("State", bound=Record)
Down = TypeVar("Down", bound=Record)
Up = TypeVar("Up", bound=Message)


class Algorithm(ABC, Generic[State, Down, Up]):
    """Pure steps over explicit state. Subclasses are frozen dataclasses; fields are parameters.

    Clients keep no state, so a step can be retried. The server gets one merged message, so its
    code treats all clients alike. Neither side changes what it is given. The types in the header
    of a subclass are those of the server's state, of the broadcast and of a client's message.

    An integer or array parameter needs a `Role`, which says how clients limit it. `register`
    makes the algorithm known to estimators, studies and clients by its key.

    This one is complete. It finds the mean of all clients' rows in one round:

    >>> from dataclasses import dataclass
    >>> from typing import Annotated, ClassVar
    >>> import numpy as np
    >>> from fedclust.channels import LocalChannel
    >>> from fedclust.core import (
    ...     Algorithm, Data, Dims, Empty, Plan, Record, Role, Schema, Summed, Traits, run)
    >>> from fedclust.typing import FloatArray, Rng
    >>> @dataclass(frozen=True, eq=False)
    ... class Mean(Record):
    ...     mean: Annotated[FloatArray, Dims("F")]
    ...     round: int
    >>> @dataclass(frozen=True, eq=False)
    ... class Total(Summed):
    ...     total: Annotated[FloatArray, Dims("F")]
    ...     count: Annotated[FloatArray, Dims("one")]
    >>> @dataclass(frozen=True, eq=False)
    ... class FederatedMean(Algorithm[Mean, Empty, Total]):
    ...     min_count: Annotated[int, Role.RECORDS] = 2
    ...     key: ClassVar[str] = "mean"
    ...     traits: ClassVar[Traits] = Traits(additive=True)
    ...     def start(self, schema: Schema, rng: Rng) -> Mean:
    ...         return Mean(np.zeros(schema.n_features), 0)
    ...     def broadcast(self, state: Mean) -> Empty:
    ...         return Empty()
    ...     def client_step(self, down: Empty, data: Data, rng: Rng) -> Total:
    ...         return Total(data.X.sum(axis=0), np.array([float(len(data))]))
    ...     def release(self, message: Total) -> Total:
    ...         return message if message.count[0] >= self.min_count else message.identity()
    ...     def server_step(self, state: Mean, merged: Total, rng: Rng) -> Mean:
    ...         return Mean(merged.total / merged.count, state.round + 1)
    ...     def done(self, state: Mean) -> bool:
    ...         return state.round == 1
    ...     def model(self, state: Mean) -> FloatArray:
    ...         return state.mean
    ...     def sizes(self, schema: Schema) -> dict[str, int]:
    ...         return {"F": schema.n_features, "one": 1}
    >>> clients = {"a": Data.of([[1.0], [2.0]]), "b": Data.of([[3.0], [6.0]])}
    >>> run(Plan(FederatedMean()), LocalChannel(clients), Schema(n_features=1)).model
    array([3.])
    """

    key: ClassVar[str]  # its name in the registry: the paper's acronym
    use_for: ClassVar[str] = ""  # advice for users: when to choose it
    traits: ClassVar[Traits] = Traits()
    partition: ClassVar[Partition] = "horizontal"
    seeding: ClassVar[str | None] = None  # the default seeding: a run that finds start centres
    stands_for: ClassVar[tuple[str, ...]] = ()  # keys of algorithms that it replaces in a tier
    state: ClassVar[type[Record]]  # these three are taken from the class header
    down: ClassVar[type[Record]]
    up: ClassVar[type[Message]]

    n_clusters: Annotated[
        int, Role.CLUSTERS
    ]  # of clustering algorithms; statistics have no clusters

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, kind in zip(("state", "down", "up"), header_types(cls), strict=True):
            if isinstance(kind, type) and kind is not Any and name not in vars(cls):
                setattr(cls, name, kind)

    @abstractmethod
    def start(self, schema: Schema, rng: Rng) -> State:
        """Server: the state before the first round."""

    @abstractmethod
    def broadcast(self, state: State) -> Down:
        """Server: what clients may see of the state."""

    @abstractmethod
    def client_step(self, down: Down, data: Data, rng: Rng) -> Up:
        """Client: its reply in a round. A client without rows sends an empty message."""

    def release(self, message: Up) -> Up:
        """Client: the part of its complete message that may be sent."""
        return message

    @abstractmethod
    def server_step(self, state: State, merged: Up, rng: Rng) -> State:
        """Server: the next state, from one merged message."""

    @abstractmethod
    def done(self, state: State) -> bool:
        """Server: whether the run is over."""

    @abstractmethod
    def model(self, state: State) -> Any:
        """The outcome: centres, or an index."""

    def assign(self, state: Any, data: Data) -> Array:
        """Client: labels or memberships of its own rows at the end of a run; they are not sent."""
        raise NotImplementedError(f"{self.key} does not assign rows to clusters")

    def scoring(self, state: State) -> "Algorithm[Any, Any, Any] | None":
        """The query that says how good the result of a run is; None: its inertia does."""
        return None

    @property
    def soft(self) -> bool:
        """Whether these settings assign memberships rather than labels."""
        return self.traits.soft

    def over_cells(self) -> "Algorithm[Any, Any, Any]":
        """The algorithm for rows with missing cells, or a refusal."""
        if self.traits.missing:
            return self
        raise ConfigError(
            f"{self.key} needs complete rows, so missing = 'partial' is not available; use 'drop' "
            "or 'mean', or an algorithm for missing cells such as 'llf-cm' or 'llf-fcm'"
        )

    @property
    def n_starts(self) -> int:
        """How many sets of centres a message has sums for; each assigns all rows."""
        return 1

    @property
    def lossless(self) -> bool:
        """Whether, from the same start, every split of the rows gives the result of pooled data."""
        return False

    def rule(self, n_features: int) -> Rule:
        """What clients withhold with privacy="paper": the rule of the algorithm's paper."""
        return Rule()

    def parameter(self, name: str, default: Any = None) -> Any:
        """The value of a parameter, or the default if the algorithm has no such parameter."""
        return getattr(self, name) if self.has_parameter(name) else default

    @classmethod
    def has_parameter(cls, name: str) -> bool:
        """Whether the algorithm has a parameter of that name."""
        return name in {field.name for field in fields(cast(Any, cls))}

    @classmethod
    def has_reference(cls) -> bool:
        """Whether there is a preset that reproduces the authors' published code."""
        return cls.reference.__func__ is not Algorithm.reference.__func__  # type: ignore[attr-defined]

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """The settings that reproduce the authors' published code."""
        raise ConfigError(f"{cls.key} has no preset 'reference'; use preset='default'")

    def sizes(self, schema: Schema) -> dict[str, int]:
        """The size of each named axis in the messages."""
        return {"C": self.n_clusters, "F": schema.n_features}


def header_types(kind: type[Any]) -> tuple[Any, ...]:
    """Types of state, broadcast and message, from the header of an algorithm class or its bases."""
    for base in vars(kind).get("__orig_bases__", kind.__bases__):
        origin = get_origin(base) or base
        if origin is Algorithm:
            return get_args(base) or (State, Down, Up)
        if isinstance(origin, type) and issubclass(origin, Algorithm):
            given = dict(zip(getattr(origin, "__parameters__", ()), get_args(base), strict=False))
            return tuple(given.get(t, t) for t in header_types(origin))
    raise TypeError(f"{kind.__name__} is not an Algorithm")


@dataclass(frozen=True, eq=False)
class Empty(Record):
    """A record without fields: a broadcast that only starts a round, or the state before it."""


class OneRoundQuery(Algorithm[Any, Down, Up], Generic[Down, Up]):
    """Base of statistics, scores and profiles: the server's state is the merged message."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if hasattr(cls, "up"):
            cls.state = cls.up

    def start(self, schema: Schema, rng: Rng) -> Empty:
        return Empty()

    def server_step(self, state: Empty, merged: Up, rng: Rng) -> Up:
        return merged

    def done(self, state: Any) -> bool:
        return not isinstance(state, Empty)

    def model(self, state: Up) -> Any:
        return state
