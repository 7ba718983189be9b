"""Entries of a transcript: the replies of a finished step, as every participant sees them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..core import Message, MessageError, Record, Summed
from ..core.codec import get_integer
from ..core.wire import Frame
from ..typing import Array, IntArray

_BEFORE, _WORDS, _SEALS = "before", "before.words", "before.seals"
_NO_WORDS = np.empty((0, 0), np.int64)
_NO_SEALS = np.empty((0, 0), np.uint8)

Layout = tuple[tuple[str, str, tuple[int, ...]], ...]  # name, type and shape of each array


@dataclass(frozen=True, eq=False)
class Entry:
    """The replies of a step: integers for a round, plain values for every other request."""

    step: int
    clients: tuple[str, ...]
    layout: Layout = ()  # of a round's message
    words: IntArray = field(default_factory=lambda: _NO_WORDS)  # (clients or 1, values)
    values: tuple[Any, ...] = ()  # of other requests
    seals: Array = field(default_factory=lambda: _NO_SEALS)  # (clients, bytes)
    absent: tuple[str, ...] = ()  # clients that did not answer, so that the step has no result

    def __post_init__(self) -> None:
        n = len(self.clients)
        fits = self.words.ndim == 2 and self.seals.ndim == 2 and len(set(self.clients)) == n
        if self.absent:
            fits = fits and not (n or self.values or self.words.size or self.seals.size)
        elif self.layout:
            rows, width = self.words.shape if self.words.ndim == 2 else (0, 0)
            fits = fits and rows in (1, n) and width == _size(self.layout)
        else:
            fits = fits and len(self.values) == n and self.words.size == 0
        if not fits:
            raise MessageError(f"step {self.step}: the replies do not fit each other")

    @property
    def is_round(self) -> bool:
        """Whether it holds the messages of a round."""
        return bool(self.layout)

    def row(self, client: str) -> IntArray:
        """The message of a client, as integers."""
        row: IntArray = self.words[self.clients.index(client)]
        return row

    def message(self, kind: type[Message], number: int) -> Message:
        """The message of the client with that number."""
        return from_words(kind, self.layout, self.words[number])

    def kept(self, *, summed: bool) -> "Entry":
        """The entry as a client keeps it once it has checked the seals, as a sum if it may be."""
        return replace(self, words=self.total[None] if summed else self.words, seals=_NO_SEALS)

    @property
    def total(self) -> IntArray:
        """The sum of all messages, modulo 2^64, where masks cancel."""
        total: IntArray = self.words[0] if len(self.words) == 1 else self.words.sum(axis=0)
        return total


def layout_of(message: Record) -> Layout:
    """Name, type and shape of each array of a message."""
    return tuple((n, a.dtype.str, a.shape) for n, a in message.arrays().items())


def to_words(message: Record) -> IntArray:
    """A message as one array of integers."""
    arrays = message.arrays().values()
    if any(a.dtype.kind not in "iu" for a in arrays):
        raise MessageError("only integers can be relayed to other clients")
    return np.concatenate([a.astype(np.int64, copy=False).ravel() for a in arrays])


def words_of(arrays: Mapping[str, Array], layout: Layout) -> IntArray | None:
    """The same of arrays that have exactly this layout; None if they have not."""
    if not layout or len(arrays) != len(layout):
        return None
    found = []
    for name, dtype, shape in layout:
        array = arrays.get(name)
        if array is None or array.dtype.str != dtype or array.shape != shape:
            return None
        found.append(array.astype(np.int64, copy=False).ravel())
    return np.concatenate(found)


def from_words(kind: type[Message], layout: Layout, words: IntArray) -> Message:
    """Inverse of `to_words`."""
    arrays, start = {}, 0
    for name, dtype, shape in layout:
        size = prod(shape)
        part = words[start : start + size]
        arrays[name] = part.astype(np.dtype(dtype), copy=False).reshape(shape)
        start += size
    return kind.from_arrays(arrays)


def messages_of(kind: type[Message], entry: Entry) -> Mapping[str, Message]:
    """Messages of the entry's clients whose merge is that of the true messages.

    Of summed messages only the sum counts: it stands for the first client, the others have zeros.
    """
    if not issubclass(kind, Summed):
        return {c: entry.message(kind, n) for n, c in enumerate(entry.clients)}
    same: Any = kind  # mypy does not see that classes can be hashed
    total, zeros = from_words(kind, entry.layout, entry.total), _zeros(same, entry.layout)
    return {client: zeros if n else total for n, client in enumerate(entry.clients)}


@lru_cache(maxsize=8)
def _zeros(kind: type[Message], layout: Layout) -> Message:
    """A message of zeros; the same in all rounds of a plan."""
    return from_words(kind, layout, np.zeros(_size(layout), np.int64))


def encode_entry(entry: Entry | None) -> Frame:
    """Header and arrays that carry an entry within a request; nothing for None."""
    if entry is None:
        return Frame({}, {})
    header: dict[str, Any] = {
        "step": entry.step,
        "clients": list(entry.clients),
        "layout": [[name, dtype, list(shape)] for name, dtype, shape in entry.layout],
        "values": list(entry.values),
        "absent": list(entry.absent),
    }
    return Frame({_BEFORE: header}, {_WORDS: entry.words, _SEALS: entry.seals})


def decode_entry(frame: Frame) -> Entry | None:
    """The entry that a request carries, which is removed from the frame; None without one."""
    header = frame.header.pop(_BEFORE, None)
    words, seals = (frame.arrays.pop(name, None) for name in (_WORDS, _SEALS))
    if header is None:
        return None
    try:
        layout = tuple((str(n), str(d), tuple(map(int, s))) for n, d, s in header["layout"])
        names = (tuple(map(str, header[key])) for key in ("clients", "absent"))
        clients, absent = names
        values = tuple(header["values"])
        if words is None or seals is None or words.dtype != np.int64 or seals.dtype != np.uint8:
            raise ValueError("no replies")
        return Entry(get_integer(header, "step"), clients, layout, words, values, seals, absent)
    except (TypeError, KeyError, ValueError, OverflowError) as problem:
        raise MessageError(f"the replies of the step before are not readable: {problem}") from None


def _size(layout: Layout) -> int:
    return sum(prod(shape) for _, _, shape in layout)
