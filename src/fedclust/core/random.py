"""Reproducible random numbers: each stream is a function of seed, party and round alone.

Nothing here is fit for privacy: noise and masks must come from the operating system.
"""

from hashlib import blake2b

import numpy as np

from ..typing import Rng


def stream(seed: int, party: str, round_number: int) -> Rng:
    """The random numbers of one party in one round."""
    return np.random.Generator(np.random.PCG64(derived(seed, party, round_number)))


def derived(*words: object) -> int:
    """A seed that is a function of the words."""
    text = "\x1f".join(map(str, words)).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
