"""Rows on a device: in parts that fit, kept there from round to round where memory allows."""

import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...typing import FloatArray
from .device import Device

PART_BYTES = 2**30  # of rows that are copied at a time
RESIDENT = 0.7  # share of the free memory that rows may take for good


class DeviceRows:
    """Rows that a device works on. The host's rows must not change."""

    def __init__(self, X: FloatArray, device: Device, part_bytes: int = PART_BYTES) -> None:
        self.n: int = len(X)
        self.n_features: int = X.shape[1]
        self.dtype = X.dtype
        self.device = device
        self._host = weakref.ref(X)
        self._weights: tuple[weakref.ref[FloatArray] | None, list[Any]] = (None, [])
        self.lock = threading.Lock()  # one step at a time: a step may use most of the memory
        size = max(1, part_bytes // max(1, X.itemsize * self.n_features))
        self.cuts = [(a, min(self.n, a + size)) for a in range(0, self.n, size)]
        self._resident = self._keep(X)

    def parts(self, weight: FloatArray) -> Iterator[tuple[Any, Any, int]]:
        """Yield rows, weights (None if there are none) and the number of rows of each part."""
        weight = weight.astype(np.float64, copy=False)
        weights = self._weights_of(weight)
        for i, (a, b) in enumerate(self.cuts):
            rows = self._resident[i] if self._resident else self.device.put(self._rows()[a:b])
            w = None
            if len(weight):
                w = weights[i] if weights else self.device.put(weight[a:b])
            yield rows, w, b - a

    def _keep(self, values: FloatArray) -> list[Any]:
        """All parts on the device, where they stay; none if there is too little memory."""
        if values.nbytes > RESIDENT * self.device.free_bytes():
            return []
        try:
            return [self.device.put(values[a:b]) for a, b in self.cuts]
        except MemoryError:  # another program has taken it meanwhile
            return []

    def _rows(self) -> FloatArray:
        X = self._host()
        if X is None:
            raise ReferenceError("the rows were deleted while a step used them")
        return X

    def _weights_of(self, weight: FloatArray) -> list[Any]:
        """Weights that stay on the device; clients weigh their rows alike in every round."""
        if not len(weight):
            return []
        known, parts = self._weights
        if known is None or known() is not weight:
            self._weights = None, []  # makes room
            parts = self._keep(weight)
            self._weights = weakref.ref(weight), parts
        return parts


_placed: dict[int, tuple["weakref.ref[FloatArray]", DeviceRows]] = {}


def place(X: FloatArray, device: Device) -> FloatArray:
    """Return the rows as an array that cannot be written; steps over it run on the device."""
    rows = np.ascontiguousarray(X).view()
    rows.flags.writeable = False
    key = id(rows)
    reference = weakref.ref(rows, lambda _: _placed.pop(key, None))
    _placed[key] = reference, DeviceRows(rows, device)
    return rows


def placed(X: FloatArray) -> DeviceRows | None:
    """Return the rows on a device that belong to this very array, if any."""
    found = _placed.get(id(X))
    return found[1] if found is not None and found[0]() is X else None


def forget(X: FloatArray) -> None:
    """Let steps over this array run on the CPU from now on."""
    _placed.pop(id(X), None)
