"""Reproducible random numbers: each stream is a function of seed, party and round alone.

Nothing here is fit for privacy: noise and masks must come from the operating system.
"""

from hashlib import blake2b
from typing import Any, cast

import numpy as np

from ..typing import Rng


class _Lazy:
    """A generator that is seeded when it is first used: most client steps draw nothing."""

    def __init__(self, *words: object) -> None:
        self._words = words
        self._rng: Rng | None = None

    def __getattr__(self, name: str) -> Any:
        if self._rng is None:
            self._rng = np.random.default_rng(derived(*self._words))
        return getattr(self._rng, name)


def stream(seed: int, party: str, round_number: int) -> Rng:
    """The random numbers of one party in one round."""
    return cast(Rng, _Lazy(seed, party, round_number))


def derived(*words: object) -> int:
    """A seed that is a function of the words."""
    text = "\x1f".join(map(str, words)).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
