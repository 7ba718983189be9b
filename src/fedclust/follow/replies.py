"""What the server makes of the replies to a step: entries of the transcript."""

from binascii import a2b_base64
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core import Message, MessageError
from ..core.codec import decode_message, get_text
from ..core.wire import Frame
from ..typing import Array, IntArray
from .entries import Entry, Layout, layout_of, to_words, words_of


class RoundReply(NamedTuple):
    """A client's message in a round, as integers."""

    layout: Layout
    words: IntArray


class RoundReader:
    """Reads the replies to one round: the first one in full, then those with the same arrays.

    The server needs no message of a single client, and what is checked of integers is their layout.
    """

    def __init__(self, kind: type[Message], sizes: Mapping[str, int]) -> None:
        self._kind, self._sizes = kind, sizes
        self._layout: Layout = ()

    def __call__(self, frame: Frame) -> tuple[RoundReply, Array]:
        """The reply in a frame, and its seal."""
        words = words_of(frame.arrays, self._layout)
        if words is None:
            message = decode_message(frame, self._kind, self._sizes)
            self._layout, words = layout_of(message), to_words(message)
        return RoundReply(self._layout, words), _seal_of(frame)


def read_values(frame: Frame) -> tuple[Any, Array]:
    """The plain values of a reply, and its seal."""
    return frame.header.get("values"), _seal_of(frame)


def read_position(frame: Frame) -> int:
    """The number of the step that a client expects."""
    values = frame.header.get("values")
    position = values.get("next") if isinstance(values, dict) else None
    if type(position) is not int or position < 0:
        raise MessageError("the reply names no position")
    return position


def find_odd(replies: Mapping[str, tuple[Any, Array]]) -> list[str]:
    """Clients whose message has another layout than most; it cannot be added to the others."""
    layouts = {c: part.layout for c, (part, _) in replies.items() if isinstance(part, RoundReply)}
    first = next(iter(layouts.values()), ())
    if all(layout is first for layout in layouts.values()):  # as the reader leaves them
        return []
    usual = Counter(layouts.values()).most_common(1)[0][0]
    return sorted(client for client, layout in layouts.items() if layout != usual)


def make_entry(step: int, replies: Mapping[str, tuple[Any, Array]]) -> Entry:
    """The entry of a finished step, in the order of client ids."""
    clients = tuple(sorted(replies))
    parts = [replies[client][0] for client in clients]
    width = max(len(replies[client][1]) for client in clients)
    seals = np.zeros((len(clients), width), np.uint8)
    for row, client in enumerate(clients):
        seal = replies[client][1]
        seals[row, : len(seal)] = seal
    if not isinstance(parts[0], RoundReply):
        return Entry(step, clients, values=tuple(parts), seals=seals)
    words = np.stack([part.words for part in parts])
    return Entry(step, clients, parts[0].layout, words, seals=seals)


def _seal_of(frame: Frame) -> Array:
    try:
        raw = a2b_base64(get_text(frame.header, "seal"), strict_mode=True)
    except ValueError as problem:  # MessageError is one
        raise MessageError(f"the reply has no seal ({problem})") from None
    return np.frombuffer(raw, np.uint8)
