"""Secrets, names of runs, noise and seeds that are the same whenever a test is run.

A mask is uniform and noise has no bounds, so a test that uses the system's randomness can fail by
bad luck once in a thousand runs, and nobody can repeat it. So can an estimator without a
`random_state`, which takes its seed from NumPy's global state. Each test and each fixture has draws
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
_IS_SYSTEM = os.environ.get("FEDCLUST_DRAWS") == "system"


class Stream:
    """Draws of a test, or of a fixture."""

    def __init__(self) -> None:
        self._rng, self._one_at_a_time = np.random.default_rng(0), threading.Lock()

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Draw what belongs to a name, and go on afterwards as if nothing had been drawn."""
        if _IS_SYSTEM:
            yield
            return
        before, self._rng = self._rng, np.random.default_rng(list(name.encode()))
        state = np.random.get_state()  # noqa: NPY002
        np.random.seed(self._rng.integers(2**32))  # noqa: NPY002
        try:
            yield
        finally:
            self._rng = before
            np.random.set_state(state)  # noqa: NPY002

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
    if _IS_SYSTEM:
        return
    sampler: Any = STREAM.sampler
    setattr(crypto, "os", SimpleNamespace(urandom=STREAM.bytes))  # noqa: B010
    setattr(noise, "_sampler", sampler)  # noqa: B010
    setattr(secrets, "token_hex", STREAM.hex)  # noqa: B010
