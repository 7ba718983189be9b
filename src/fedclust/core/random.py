"""Reproducible random numbers: each stream depends on seed, party and round only.

They must not be used for privacy: noise and masks come from the operating system.
"""

from hashlib import blake2b
from typing import Any, cast

import numpy as np

from ..typing import Rng


def stream(seed: int, party: str, round_number: int) -> Rng:
    """The random numbers of one party in one round."""
    return np.random.Generator(np.random.PCG64(derive_seed(seed, party, round_number)))


class _NoRandomness:
    """A placeholder for algorithms that draw nothing: a generator costs more than a small step."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"rng.{name}: the client step has no random numbers; declare Traits(draws=True)"
        )


NO_RANDOMNESS = cast(Rng, _NoRandomness())


def derive_seed(*parts: object) -> int:
    """Derive a seed from several values by hashing them."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
