"""Secrets, names of runs and noise that are the same whenever a test is run.

A mask is uniform and noise has no bounds, so a test that uses the system's randomness can fail by
bad luck once in a thousand runs, and nobody can repeat it. Each test and each fixture has a stream
of its own, which no other test shifts. With FEDCLUST_DRAWS=system nothing is replaced.
"""

import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedclust.privacy import crypto, noise
from fedclust.typing import IntArray

TRUE_SAMPLER: Any = noise._sampler  # draws from OpenDP


class Stream:
    """Draws of a test, or of a fixture."""

    def __init__(self) -> None:
        self._rng, self._one_at_a_time = np.random.default_rng(0), threading.Lock()

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Draw what belongs to a name, and go on afterwards as if nothing had been drawn."""
        before, self._rng = self._rng, np.random.default_rng(list(name.encode()))
        try:
            yield
        finally:
            self._rng = before

    def bytes(self, n: int) -> bytes:
        """What `os.urandom` gives."""
        with self._one_at_a_time:
            return self._rng.bytes(n)

    def hex(self, n: int = 16) -> str:
        """What `secrets.token_hex` gives."""
        return self.bytes(n).hex()

    def sampler(self, scale: float) -> Callable[[Sequence[int]], IntArray]:
        """Integer noise; OpenDP still says whether it could draw it."""
        TRUE_SAMPLER(scale)

        def draw(zeros: Sequence[int]) -> IntArray:
            with self._one_at_a_time:
                return np.rint(self._rng.normal(0.0, scale, len(zeros))).astype(np.int64)

        return draw


STREAM = Stream()


def replace_draws() -> None:
    """Let all draws come from the stream."""
    if os.environ.get("FEDCLUST_DRAWS") == "system":
        return
    sampler: Any = STREAM.sampler
    setattr(crypto, "os", SimpleNamespace(urandom=STREAM.bytes))  # noqa: B010
    setattr(noise, "_sampler", sampler)  # noqa: B010
    setattr(secrets, "token_hex", STREAM.hex)  # noqa: B010
