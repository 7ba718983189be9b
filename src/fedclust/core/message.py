"""Messages between clients and server: named arrays that are summed or stacked.

A message is a frozen dataclass whose fields are arrays. ``Summed`` messages merge by addition,
``Stacked`` ones by concatenation in the order of client ids. The server's code sees one merged
message and never a list of them. Summed messages can therefore be masked, noised or streamed, and
the algorithm need not know.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated, Any, ClassVar, Self, get_origin, get_type_hints

import numpy as np

from ..kernels.grid import SUM_BITS, Grid
from ..typing import Array, BoolArray, FloatArray
from .errors import MessageError


@dataclass(frozen=True)
class Dims:
    """The axes of an array field, by name: ``Annotated[FloatArray, Dims("C", "F")]``.

    The arrays of a message must agree on the size of each axis, and with the sizes in the plan.
    A field marked ``stays`` serves the client's own transforms and is not sent.
    """

    names: tuple[str, ...]
    stays: bool

    def __init__(self, *names: str, stays: bool = False) -> None:
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "stays", stays)


class Record:
    """A frozen dataclass of arrays and numbers; only records are sent or saved."""

    _arrays: ClassVar[dict[str, Dims]] = {}
    _numbers: ClassVar[dict[str, type]] = {}
    _sent: ClassVar[
        dict[str, tuple[str, ...]]
    ] = {}  # sent fields and their axes; numbers have no axes

    def __init_subclass__(cls) -> None:
        hints = get_type_hints(cls, include_extras=True)
        cls._arrays = {n: t.__metadata__[0] for n, t in hints.items() if get_origin(t) is Annotated}
        cls._numbers = {n: t for n, t in hints.items() if t in (int, float, bool)}
        sent_arrays = {n: d.names for n, d in cls._arrays.items() if not d.stays}
        cls._sent = sent_arrays | dict.fromkeys(cls._numbers, ())

    def arrays(self) -> dict[str, Array]:
        """The wire format: named arrays, never a pickle."""
        return {name: np.asarray(getattr(self, name)) for name in self._sent}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """Inverse of `arrays`."""
        if arrays.keys() != cls._sent.keys():
            wanted, received = sorted(cls._sent), sorted(arrays)
            raise MessageError(f"{cls.__name__}: expected the fields {wanted}, got {received}")
        plain = cls._numbers
        return cls(**{n: plain[n](a) if n in plain else a for n, a in arrays.items()})

    @property
    def nbytes(self) -> int:
        """Bytes of payload."""
        return sum(_as_array(getattr(self, name)).nbytes for name in self._sent)

    def check(self, sizes: Mapping[str, int]) -> None:
        """Check that every array holds numbers and has the expected shape."""
        known = dict(sizes)
        for name, axes in self._sent.items():
            array = _as_array(getattr(self, name))
            if array.dtype.kind not in "fiub":
                raise MessageError(f"array {name!r} holds {array.dtype}, expected numbers")
            shape = tuple(known.setdefault(a, n) for a, n in zip(axes, array.shape, strict=False))
            if array.ndim != len(axes) or array.shape != shape:
                wanted = ", ".join(f"{a}={known.get(a, '?')}" for a in axes)
                raise MessageError(f"array {name!r} has shape {array.shape}, expected ({wanted})")

    def is_finite(self) -> bool:
        """Whether no array holds NaN or infinity."""
        return all(bool(np.isfinite(array).all()) for array in self.arrays().values())


def _as_array(value: Any) -> Array:
    """Return objects with a shape as they are: some compute their values only when read."""
    return value if hasattr(value, "shape") else np.asarray(value)


class Message(Record):
    """A client's message to the server."""

    @classmethod
    def merge(cls, messages: Sequence[Self]) -> Self:
        """Merge all messages: a commutative monoid, up to rounding and the order of rows."""
        raise NotImplementedError

    def keep(self, mask: BoolArray) -> Self:
        """Remove the clusters outside the mask."""
        raise NotImplementedError

    def identity(self) -> Self:
        """The neutral element of `merge`, sent by a client that abstains."""
        raise NotImplementedError

    def is_empty(self) -> bool:
        """Whether this is the neutral element."""
        raise NotImplementedError

    def plus(self, other: Self) -> Self:
        """Add the message of other rows of the same client, client-only fields included."""
        values = {n: getattr(self, n) for n in (*self._arrays, *self._numbers)}
        added = {n: v + getattr(other, n) for n, v in values.items() if v is not None}
        return replace(self, **added)  # type: ignore[type-var]

    def _map(self, change: Callable[[Array, tuple[str, ...]], Array]) -> Self:
        """Apply `change` to every array, client-only fields included."""
        arrays = {n: (getattr(self, n), d.names) for n, d in self._arrays.items()}
        changed = {n: change(a, names) for n, (a, names) in arrays.items() if a is not None}
        return replace(self, **changed)  # type: ignore[type-var]


class Summed(Message):
    """A message that merges by addition: the only kind that can be aggregated securely."""

    @classmethod
    def merge(cls, messages: Sequence[Self]) -> Self:
        return cls(**{n: reduce(np.add, [getattr(m, n) for m in messages]) for n in cls._sent})

    def keep(self, mask: BoolArray) -> Self:
        # Only arrays along axis "C" belong to single clusters; a number of clients does not.
        return self._map(lambda a, axes: (a.T * mask).T if axes[0] == "C" else a)

    def identity(self) -> Self:
        return self._map(lambda a, _: np.zeros_like(a))

    def is_empty(self) -> bool:
        return not any(a.any() for a in self.arrays().values())

    def on_grid(self, grid: Grid) -> Self:
        """The message in integers (int64), each rounded once; unchanged if it is one already."""
        return self._map_sent(lambda a: round_to_grid(a, grid.plain))

    def off_grid(self, grid: Grid) -> Self:
        """Inverse of `on_grid`, after the merge."""
        return self._map_sent(lambda a: a / grid.plain)

    def _map_sent(self, change: Callable[[Array], Array]) -> Self:
        """Apply `change` to the fields that are sent, and drop client-only fields."""
        dropped = {n: None for n, d in self._arrays.items() if d.stays}
        changed = {n: change(np.asarray(getattr(self, n))) for n in self._sent}
        return replace(self, **changed, **dropped)  # type: ignore[type-var]


def round_to_grid(values: FloatArray, unit: Any) -> Array:
    """Express values as integer multiples of a grid's step."""
    steps = np.rint(values * unit)
    if not (np.abs(steps) <= 2.0**SUM_BITS).all():
        raise MessageError(f"a sum overflows the plan's grid; {COARSER}")
    integers: Array = steps.astype(np.int64)
    return integers


COARSER = "widen the bounds, or raise max_records, for a coarser grid"


class Stacked(Message):
    """A message that merges by stacking rows, in the order of client ids."""

    @classmethod
    def merge(cls, messages: Sequence[Self]) -> Self:
        return cls(**{n: np.concatenate([getattr(m, n) for m in messages]) for n in cls._sent})

    def keep(self, mask: BoolArray) -> Self:
        return self._map(lambda a, _: a[mask])

    def identity(self) -> Self:
        return self._map(lambda a, _: a[:0])

    def is_empty(self) -> bool:
        return all(len(a) == 0 for a in self.arrays().values())
