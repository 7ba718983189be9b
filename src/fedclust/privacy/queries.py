"""A question in a hash: two are the same if a client would compute the same answer to them."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ..core import RoundContext
from ..core.identity import once_per_object
from .crypto import digest


@once_per_object
def plan_digest(plan: Any) -> bytes:
    """An algorithm with its settings, the transforms and the seed; the same in every round."""
    algorithm = plan.algorithm
    settings = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}
    words = (algorithm.key, *map(repr, plan.transforms), str(plan.seed))
    arrays = {n: v for n, v in settings.items() if isinstance(v, np.ndarray)}
    plain = {n: v for n, v in settings.items() if n not in arrays}
    return digest(*(w.encode() for w in words), repr(plain).encode(), *array_parts(arrays))


def query_digest(context: RoundContext) -> bytes:
    """Digest of a plan, a round, the broadcast and the form of rows; not of the cohort."""
    return digest(plan_digest(context.plan), str(context.round).encode(), broadcast_digest(context))


def broadcast_digest(context: RoundContext) -> bytes:
    """What the server sent: the broadcast, and the form in which it wants rows."""
    form = b"" if context.data is None else context.data.form
    return digest(form, *array_parts(context.down.arrays() if context.down else {}))


def array_parts(arrays: Mapping[str, Any]) -> list[bytes]:
    """Arrays by name, type, shape and bytes."""
    found = []
    for name, value in arrays.items():
        array = np.ascontiguousarray(value)
        found += [f"{name} {array.dtype.str} {array.shape}".encode(), array.tobytes()]
    return found
