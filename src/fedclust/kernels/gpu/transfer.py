"""Copies of large arrays to a device, by way of memory that the device reads at full speed."""

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ...typing import Array
from ..threads import map_in_parallel, n_threads

LARGE = 2**23  # bytes; smaller arrays are copied at once
BUFFER = 2**25  # bytes of a buffer
BUFFERS = 3


class Link(Protocol):
    """Sends bytes of a buffer to a device."""

    def send(self, buffer: int, size: int, to: int) -> None:
        """Start to send the first bytes of a buffer to a place in the device's array."""
        ...

    def wait(self, buffer: int) -> None:
        """Wait until a buffer is sent."""
        ...


def send_in_parts(source: Array, buffers: Sequence[Array], link: Link) -> None:
    """Fill a buffer by several threads while the one before is sent."""
    raw = source.reshape(-1).view(np.uint8)
    size = len(buffers[0])
    for turn, start in enumerate(range(0, len(raw), size)):
        which = turn % len(buffers)
        part = raw[start : start + size]
        if turn >= len(buffers):
            link.wait(which)
        _fill(buffers[which], part)
        link.send(which, len(part), start)
    for which in range(len(buffers)):
        link.wait(which)


def _fill(buffer: Array, part: Array) -> None:
    share = -(-len(part) // n_threads())
    cuts = [slice(a, min(a + share, len(part))) for a in range(0, len(part), share)]
    map_in_parallel(lambda cut: np.copyto(buffer[cut], part[cut]), cuts)


class CudaLink:
    """Buffers in pinned memory, and a stream of copies from them."""

    def __init__(self, cupy: Any) -> None:
        self._cuda = cupy.cuda
        memory = [self._cuda.alloc_pinned_memory(BUFFER) for _ in range(BUFFERS)]
        self._memory = memory
        self._buffers = [np.frombuffer(m, np.uint8, BUFFER) for m in memory]
        self._events = [self._cuda.Event() for _ in memory]
        self._stream = self._cuda.Stream(non_blocking=True)
        self._lock = threading.Lock()
        self._target: Any = None

    def copy(self, source: Array, target: Any) -> None:
        """Copy an array to an array of the device, and wait for the end."""
        with self._lock:
            self._cuda.get_current_stream().synchronize()  # the target may still be in use
            self._target = target
            send_in_parts(source, self._buffers, self)
            self._target = None

    def send(self, buffer: int, size: int, to: int) -> None:
        """Start to send the first bytes of a buffer to a place in the device's array."""
        at = self._target.data + to
        at.copy_from_host_async(self._memory[buffer].ptr, size, self._stream)
        self._events[buffer].record(self._stream)

    def wait(self, buffer: int) -> None:
        """Wait until a buffer is sent."""
        self._events[buffer].synchronize()
