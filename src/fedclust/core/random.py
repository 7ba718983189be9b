"""Reproducible random numbers: each stream is a function of seed, party and round alone.

Nothing here is fit for privacy: noise and masks must come from the operating system.
"""

from hashlib import blake2b
from typing import Any, cast

import numpy as np

from ..typing import Rng


def stream(seed: int, party: str, round_number: int) -> Rng:
    """The random numbers of one party in one round."""
    return np.random.Generator(np.random.PCG64(derive_seed(seed, party, round_number)))


class _NoRandomness:
    """Stands for a generator where none is to be used: making one costs more than a small step."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"rng.{name}: this algorithm's client step draws nothing; set draws")


NO_RANDOMNESS = cast(Rng, _NoRandomness())


def derive_seed(*words: object) -> int:
    """A seed that is a function of the words."""
    text = "\x1f".join(map(str, words)).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
