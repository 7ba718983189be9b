"""An algorithm: a small frozen dataclass of its own configuration, with one step for each side."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np

from ..kernels.grid import Grid
from ..typing import Array, FloatArray, Rng
from .checks import LARGEST
from .errors import ConfigError, DataError
from .message import Message, Record

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

    Clients keep no state, so a step can be retried; the server gets one merged message, so its
    code treats all clients alike; neither side changes what it is given.
    """

    key: ClassVar[str]  # its name in the registry: the paper's acronym
    partition: ClassVar[Partition] = "horizontal"
    soft: ClassVar[bool] = False  # assigns memberships, not labels
    seeding: ClassVar[str | None] = None  # the run that finds its start, unless told otherwise
    conserves: ClassVar[bool] = False  # sums over all clusters are the same in every round
    counted: ClassVar[bool] = False  # messages know how many records stand behind a cluster
    draws: ClassVar[bool] = False  # client steps draw random numbers
    additive: ClassVar[bool] = False  # a client's message is the sum of those of its rows
    reads_rows: ClassVar[bool] = True  # a client's answer tells of its rows
    samples: ClassVar[bool] = False  # a sample of many rows does as well as all of them
    one_client: ClassVar[bool] = False  # a single client, drawn at random, is asked
    state: ClassVar[type[Record]]
    down: ClassVar[type[Record]]
    up: ClassVar[type[Message]]

    n_clusters: int  # of those that cluster; statistics and alignments are plans too

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
    def lossless(self) -> bool:
        """Whether, with these settings, any split gives what pooling would from the same start."""
        return False

    def rule(self, n_features: int) -> Rule:
        """What clients withhold under privacy="paper": the rule of the algorithm's paper."""
        return Rule()

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """The settings that do what the authors' published code did."""
        raise ConfigError(f"{cls.key} has no preset 'reference': there is nothing to differ from")

    def sizes(self, schema: Schema) -> dict[str, int]:
        """The sizes that messages must have, by the name of the axis."""
        return {"C": self.n_clusters, "F": schema.n_features}
