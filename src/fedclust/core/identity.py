"""Results that are kept for as long as the object lives that they are about."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def once_per_object(compute: Callable[[T], R]) -> Callable[[T], R]:
    """Compute a function of an immutable object once, by identity and not by value."""
    known: dict[int, tuple[weakref.ref[T], R]] = {}

    @wraps(compute)
    def find(owner: T) -> R:
        key = id(owner)
        entry = known.get(key)
        if entry is not None and entry[0]() is owner:
            return entry[1]
        found = compute(owner)
        known[key] = weakref.ref(owner, lambda _: known.pop(key, None)), found
        return found

    return find
