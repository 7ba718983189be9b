"""Crafted centres: two of them are a question about a half-space, and half-spaces can be halved.

A server that does not follow the protocol sends pairs of centres of its choice. Each answer is the
count and the sum of one side of a plane; planes are moved until two neighbours differ by one
record, which is then the difference of their sums.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from fedclust.typing import FloatArray

Ask = Callable[[FloatArray], tuple[float, FloatArray] | None]


def recovered(ask: Ask, F: int, questions: int, seed: int = 0) -> FloatArray:
    """Records found with so many questions, or until the answers stop."""
    rng = np.random.default_rng(seed)
    found: list[FloatArray] = []
    left = questions
    while left > 0:
        along = rng.normal(size=F)
        along /= np.linalg.norm(along)
        new, used = _one_direction(ask, along, left)
        found += new
        if used == 0:
            break
        left -= used
    return np.array(found).reshape(-1, F)


def _one_direction(ask: Ask, along: FloatArray, questions: int) -> tuple[list[FloatArray], int]:
    """Halve the gaps between planes across one direction, those of fewest records first."""
    middle = np.full(len(along), 0.5)
    planes: dict[float, tuple[float, FloatArray]] = {}
    reach, used = np.abs(along).sum() / 2, 0

    def at(place: float) -> bool:
        nonlocal used
        step = along * 0.05
        centers = middle + along * place + np.array([[-1.0], [1.0]]) * step
        answer = ask(np.clip(centers, -5, 6))
        used += 1
        if answer is not None:
            planes[place] = answer
        return answer is not None

    if not (at(-reach) and at(reach)):
        return [], 0
    while used < questions:
        places = sorted(planes)
        gaps = [
            (planes[b][0] - planes[a][0], a, b)
            for a, b in pairwise(places)
            if planes[b][0] - planes[a][0] > 1.5 and b - a > 1e-9
        ]
        if not gaps or not at((min(gaps)[1] + min(gaps)[2]) / 2):
            break
    places = sorted(planes)
    pairs = [(planes[a], planes[b]) for a, b in pairwise(places)]
    return [b[1] - a[1] for a, b in pairs if abs(b[0] - a[0] - 1.0) < 1e-6], used
