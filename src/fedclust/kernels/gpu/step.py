"""What steps on a device share: the form of the rows, its kernels, and the centres there."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...typing import FloatArray
from .._centers import prepare
from ..grid import Grid
from .device import Device, Form
from .rows import DeviceRows

# The number of parts of a sum decides its last bits, so it is the same for every device.
PARTS = 792
NARROW = 32  # up to so many features, one kernel reads every row once
THREADS = 128
WARPS = THREADS // 32
LANES = 16  # numbers that a block adds at a time, each in THREADS / LANES slices
MOST_TILES = 8  # of 16 clusters x 8 columns, whose sums a warp keeps in registers


_POWERS = {2.0: 2, 1.5: 3}


class Centers(NamedTuple):
    """Centres on the device, moved like the rows."""

    moved: Any
    shift: Any  # None if nothing is moved
    host: FloatArray


@dataclass(frozen=True)
class Step:
    """One step over rows on a device."""

    rows: DeviceRows
    centers: FloatArray
    weight: FloatArray = field(default_factory=lambda: np.empty(0))  # no weights
    grid: Grid | None = None
    fuzzifier: float = 2.0
    in_double: bool = False  # rows are compared with centres in double, whatever their type

    @property
    def device(self) -> Device:
        """The device that holds the rows."""
        return self.rows.device

    @property
    def k(self) -> int:
        """Number of clusters."""
        return len(self.centers)

    @property
    def cells(self) -> int:
        """Number of sixteens of clusters."""
        return -(-self.k // 16)

    @property
    def width(self) -> int:
        """Number of features."""
        return self.rows.n_features

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weight.size > 0

    @property
    def exact(self) -> bool:
        """Whether sums are integers."""
        return self.grid is not None

    @property
    def real(self) -> np.dtype[Any]:
        """The type in which rows are compared with centres."""
        return np.dtype(np.float64) if self.exact or self.in_double else self.rows.dtype

    @property
    def sum_type(self) -> Any:
        """The type of sums."""
        return np.int64 if self.exact else np.float64

    def launch(
        self,
        kernel: str,
        grid: tuple[int, ...],
        threads: int,
        shared: int,
        *arguments: Any,
        cells: int = 0,
    ) -> None:
        """Start a kernel; `cells` is given for those that keep sums in registers."""
        double, power = self.rows.dtype == np.float64, _POWERS.get(self.fuzzifier, 0)
        form = Form(double, self.width, self.exact, self.weighted, power, cells)
        code = self.device.load(form)
        x, y, z = (*grid, 1, 1)[:3]
        self.device.launch(code, kernel, (x, y, z), threads, shared, list(arguments))

    def put_centers(self) -> Centers:
        """Centres as the compiled loops for the CPU prepare them."""
        ready = prepare(self.centers, self.real)
        put = self.device.put
        if ready.moved is None:
            return Centers(put(ready.C), None, ready.C)
        C, shift = np.ascontiguousarray(ready.moved.C), ready.moved.shift
        return Centers(put(C), put(shift) if len(shift) else None, C)

    def grid_arguments(self) -> list[Any]:
        """Steps per unit of weight, offsets and units of columns."""
        if self.grid is None:
            return [np.float64(1.0), None, None]
        put = self.device.put
        return [np.float64(self.grid.mass), put(self.grid.offset), put(self.grid.unit)]

    def add_parts(self, parts: Any, n: int, out: Any, counted: int = 0) -> None:
        """Add n parts to sums, in a fixed order; the first numbers are counts."""
        size = out.size
        arguments = (parts, np.int32(n), np.int32(size), np.int32(counted), out)
        blocks = -(-counted // LANES) + -(-(size - counted) // LANES)
        self.launch("add_parts", (min(blocks, PARTS),), THREADS, THREADS * 8, *arguments)

    @property
    def row_stride(self) -> int:
        """Bytes from row to row of a tile in shared memory (`STRIDE_BYTES`)."""
        size = self.width * self.rows.dtype.itemsize
        unit = 16 if size % 16 == 0 else self.rows.dtype.itemsize
        return (size // unit | 1) * unit


def blocks_for(n: int, rows: int) -> int:
    """Blocks that take so many rows at a time: enough for all rows, at most PARTS."""
    return max(1, min(PARTS, -(-n // rows)))
