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
from ..typing import Array, FloatArray, Rng
from .checks import LARGEST
from .errors import ConfigError, DataError
from .message import Message, Record
from .traits import Role, Traits

Partition = Literal["horizontal", "vertical"]

# Beyond these a squared distance is no longer a number, or all of them are zero.
_LARGEST = {np.dtype(np.float64): LARGEST, np.dtype(np.float32): 1e15}
_SMALLEST = {np.dtype(np.float64): 1e-140, np.dtype(np.float32): 1e-15}


@dataclass(frozen=True, eq=False)
class Data:
    """One client's rows, checked once, where they enter."""

    X: FloatArray  # (N, F)  C-contiguous, float64 or float32
    weight: FloatArray  # (N,) positive, or (0,) where every row counts once
    grid: Grid | None = None  # where the plan wants sums of whole numbers
    # The client's own keeper of keys and releases (fedclust.privacy.ClientPolicy); it never leaves.
    policy: Any = None
    form: bytes = b""  # which columns on which scale, as who asks has put it: part of a question

    @cached_property
    def extent(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest value of each column: people's values, for the client's eyes only."""
        return self.X.min(axis=0), self.X.max(axis=0)

    @classmethod
    def of(
        cls,
        X: Any,
        weight: Any = None,
        *,
        client: str = "this client",
        names: Sequence[str] | None = None,
    ) -> Self:
        """Rows and weights as they come: arrays, nested lists, anything NumPy can read."""
        rows = _numeric(X, client)
        _usable(rows, client, names)
        if weight is None:
            return cls(rows, np.empty(0))
        try:
            w = np.asarray(weight, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{client}: sample_weight holds values that are no numbers") from None
        if w.shape != (len(rows),):
            raise DataError(f"{client}: {len(rows)} rows, but sample_weight of shape {w.shape}")
        if not np.isfinite(w).all() or (w < 0).any():
            raise DataError(f"{client}: sample_weight must be finite and not negative")
        counted = w > 0  # a row of weight zero is not there
        return cls(rows[counted], w[counted])

    def __len__(self) -> int:
        return len(self.X)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.X.shape[0], self.X.shape[1]


def _numeric(X: Any, client: str) -> FloatArray:
    if hasattr(X, "mask") and np.ma.is_masked(X):  # the first use of np.ma imports it
        raise DataError(f"{client}: some values are masked; drop or fill them first")
    if hasattr(X, "toarray"):
        raise DataError(f"{client}: sparse tables are not supported; give X.toarray()")
    try:
        rows = np.asarray(X)
        complex_ones = rows.dtype.kind == "c"
        if rows.dtype not in _LARGEST and not complex_ones:
            rows = rows.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise DataError(f"{client}: not all values are numbers ({problem})") from None
    if complex_ones:
        raise DataError(f"{client}: complex numbers have no order; give real ones")
    if rows.ndim != 2:
        raise DataError(f"{client}: expected a table of rows and columns, got shape {rows.shape}")
    if rows.shape[1] == 0:
        raise DataError(f"{client}: the table has no columns")
    return np.ascontiguousarray(rows)


def _usable(rows: FloatArray, client: str, names: Sequence[str] | None) -> None:
    if rows.size == 0:
        return
    largest = np.abs(rows).max(axis=0)
    for column in np.flatnonzero(~np.isfinite(largest)).tolist():
        bad = np.flatnonzero(~np.isfinite(rows[:, column]))
        raise DataError(
            f"{client}: column {_column(names, column)} has {len(bad)} missing or infinite values "
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
    """What everybody may know before the first round: columns, and bounds if they are public."""

    n_features: int
    low: FloatArray | None = None  # (F,)
    high: FloatArray | None = None  # (F,)
    n_records: int | None = None  # where columns are split: the records all owners share

    def records(self) -> int:
        """How many records the owners of columns share."""
        if self.n_records is None:
            raise ConfigError("owners of columns share records: give Schema(F, n_records=...)")
        return self.n_records

    def box(self) -> tuple[FloatArray, FloatArray]:
        """The public bounds; never the data's own extremes, which are people's values."""
        if self.low is None or self.high is None:
            raise ConfigError(
                "no public bounds of the features are known: give bounds=(low, high) (in core: "
                "Schema(F, low=..., high=...)), or a start that needs none, such as init='careful'"
            )
        return self.low, self.high


class Rule(NamedTuple):
    """What a client withholds: clusters of few records, or everything when it has few records."""

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
    traits: ClassVar[Traits] = Traits()
    partition: ClassVar[Partition] = "horizontal"
    seeding: ClassVar[str | None] = None  # the run that finds its start, unless another is given
    stands_for: ClassVar[tuple[str, ...]] = ()  # keys of algorithms whose place it takes in a tier
    state: ClassVar[type[Record]]  # these three are taken from the class header
    down: ClassVar[type[Record]]
    up: ClassVar[type[Message]]

    n_clusters: Annotated[int, Role.CLUSTERS]  # of those that cluster; statistics have none

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
        """Client: all that leaves it in a round. A client without rows says nothing."""

    def release(self, message: Up) -> Up:
        """Client: what may leave of its message, once all of its rows are in it."""
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

    def assign(self, model: Any, data: Data) -> Array:
        """Client: labels or memberships of its own rows under the model; they stay there."""
        raise NotImplementedError(f"{self.key} assigns nothing")

    @property
    def unguarded(self) -> str:
        """Why the guarded tier must refuse these settings; empty if it may run them."""
        return ""

    @property
    def soft(self) -> bool:
        """Whether, with these settings, it assigns memberships and not labels."""
        return self.traits.soft

    @property
    def lossless(self) -> bool:
        """Whether, with these settings, any split gives what pooling would from the same start."""
        return False

    def rule(self, n_features: int) -> Rule:
        """What clients withhold under privacy="paper": the rule of the algorithm's paper."""
        return Rule()

    def parameter(self, name: str, default: Any = None) -> Any:
        """The value of a parameter, or the default if the algorithm has no such parameter."""
        return getattr(self, name) if self.has_parameter(name) else default

    @classmethod
    def has_parameter(cls, name: str) -> bool:
        """Whether it has a parameter of that name."""
        return name in {field.name for field in fields(cast(Any, cls))}

    @classmethod
    def has_reference(cls) -> bool:
        """Whether the authors' published code does something else than the default settings."""
        return cls.reference.__func__ is not Algorithm.reference.__func__  # type: ignore[attr-defined]

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """The settings that do what the authors' published code did."""
        raise ConfigError(f"{cls.key} has no preset 'reference': there is nothing to differ from")

    def sizes(self, schema: Schema) -> dict[str, int]:
        """The sizes that messages must have, by the name of the axis."""
        return {"C": self.n_clusters, "F": schema.n_features}


def header_types(kind: type[Any]) -> tuple[Any, ...]:
    """State, broadcast and message of an algorithm class, as its header and its bases name them."""
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
    """Nothing to say: a broadcast that only begins a round, or a state before the first."""


class OneRoundQuery(Algorithm[Any, Down, Up], Generic[Down, Up]):
    """Statistics, scores, profiles: the server's state is the merged message itself."""

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
