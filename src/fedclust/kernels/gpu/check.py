"""Whether a device computes what the CPU computes, tried before it gets any rows."""

import numpy as np

from ..grid import make_grid
from ..steps import fuzzy_sums, hard_sums
from .device import Device
from .rows import place

_ROWS = 200
_SHAPES = ((3, 5), (40, 70))  # features and clusters: one kernel, and several
_STEPS = 2.0  # of the grid: by so much may a fuzzy sum differ


def find_difference(device: Device) -> str | None:
    """Compare integer sums of a few rows with those of the CPU; say what differs, if anything."""
    rng = np.random.default_rng(0)
    for width, k in _SHAPES:
        X, weight = rng.normal(size=(_ROWS, width)), rng.uniform(0.5, 2.0, _ROWS)
        X[1] = X[0]
        centers = rng.normal(size=(k, width))
        centers[-1] = centers[0]
        low, high = np.full(width, -10.0), np.full(width, 10.0)
        grid = make_grid(low, high, _ROWS, 2.0)
        there = place(X, device)
        for w in (np.empty(0), weight):
            ours, theirs = hard_sums(X, centers, w, grid), hard_sums(there, centers, w, grid)
            if any((a != b).any() for a, b in zip(ours, theirs, strict=True)):
                return f"sums of the hard step with {width} features differ from the CPU's"
        exact = fuzzy_sums(X, centers, 1.7, weight, grid)
        found = fuzzy_sums(there, centers, 1.7, weight, grid)
        if any(np.abs(a - b).max() > _STEPS * _ROWS for a, b in zip(exact, found, strict=True)):
            return f"sums of the fuzzy step with {width} features differ from the CPU's"
    return None
