"""Damage as it comes from broken lines and hostile hands."""

import numpy as np

from fedclust.core.wire import checksum


def mutated(raw: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with some of them flipped, cut out, doubled, or put elsewhere."""
    data = bytearray(raw)
    for _ in range(int(rng.integers(1, 6))):
        where = int(rng.integers(0, len(data)))
        length = int(rng.integers(1, 9))
        match int(rng.integers(0, 4)):
            case 0:
                data[where] = int(rng.integers(0, 256))
            case 1:
                del data[where : where + length]
            case 2:
                data[where:where] = rng.bytes(length)
            case _:
                data[where:where] = data[: int(rng.integers(0, len(data)))]
        if not data:
            break
    return bytes(data)


def resealed(raw: bytes) -> bytes:
    """Damage by somebody who knows the format: the checksum fits again, if there is room for it."""
    start = 8 + 2 + 4
    if len(raw) < start + 8:
        return raw
    return raw[:start] + checksum(raw[start + 8 :]) + raw[start + 8 :]
