"""Copies of large arrays to a GPU, by way of buffers that are filled while others are sent."""

import numpy as np
import pytest

from fedclust.kernels.gpu.transfer import send_in_parts
from fedclust.typing import Array


class SlowLink:
    """Reads a buffer only when it is waited for, as late as a device may."""

    def __init__(self, buffers: list[Array], size: int) -> None:
        self.buffers, self.received = buffers, np.zeros(size, np.uint8)
        self.pending: dict[int, tuple[int, int]] = {}

    def send(self, buffer: int, size: int, to: int) -> None:
        assert buffer not in self.pending, "a buffer is filled before it was sent"
        self.pending[buffer] = size, to

    def wait(self, buffer: int) -> None:
        if buffer in self.pending:
            size, to = self.pending.pop(buffer)
            self.received[to : to + size] = self.buffers[buffer][:size]


@pytest.mark.parametrize("rows", [1, 10, 64, 1000])
def test_every_byte_arrives_at_its_place(rows: int, rng: np.random.Generator) -> None:
    source = rng.normal(size=(rows, 3))
    buffers = [np.empty(100, np.uint8) for _ in range(3)]
    link = SlowLink(buffers, source.nbytes)
    send_in_parts(source, buffers, link)
    assert (link.received.view(np.float64).reshape(source.shape) == source).all()
    assert not link.pending
