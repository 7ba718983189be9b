"""The local steps over rows on a device; `steps.cu` holds the kernels.

A step over few features and clusters is one kernel that reads every row once. Other steps are
several kernels, with memory for some rows times clusters, which does not grow with the rows.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...typing import Array, FloatArray, IntArray
from .._centers import DOUBT, prepare
from .._plain import DIRECT_FEATURES
from ..grid import Grid
from .device import Device
from .rows import DeviceRows

# The number of parts of a sum decides its last bits, so it is the same for every device.
PARTS = 792
SHARED = 96 * 1024  # bytes of shared memory for a block; every card since 2020 has as much
FUSED_FEATURES = 32
THREADS = 128
WARPS = THREADS // 32
SIDE, WIDE = 64, 256  # of tiles of products: rows and centres, threads
SCRATCH = 2**25  # numbers of a matrix of some rows times clusters: 256 MB
MOST_PARTS = 2**24  # numbers of all parts of a sum
MOST_CLUSTERS = SHARED // 12  # a sum and a count of every cluster have to fit into a block

_PRODUCTS = 2 * 16 * (SIDE + 1)  # numbers of two tiles


class _Centers(NamedTuple):
    """Centres on the device, moved like the rows."""

    moved: Any
    shift: Any  # None if nothing is moved
    norms: Any
    ceiling: float


@dataclass(frozen=True)
class _Step:
    """One step: the form of the rows, the code for it, and the device's lock."""

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

    @property
    def code(self) -> Any:
        """The kernels for this form of the rows."""
        power = {2.0: 2, 1.5: 3}.get(self.fuzzifier, 0)
        macros = {
            "ROW": "double" if self.rows.dtype == np.float64 else "float",
            "F": self.width,
            "EXACT": int(self.exact),
            "WEIGHTED": int(self.weighted),
            "POWER": power,
        }
        return self.device.load(tuple((name, str(value)) for name, value in macros.items()))

    def launch(
        self, kernel: str, grid: tuple[int, ...], threads: int, shared: int, *arguments: Any
    ) -> None:
        """Start a kernel."""
        x, y, z = (*grid, 1, 1)[:3]
        self.device.launch(self.code, kernel, (x, y, z), threads, shared, list(arguments))

    def put_centers(self) -> _Centers:
        """Centres as the compiled loops for the CPU prepare them."""
        ready = prepare(self.centers, self.real)
        if ready.moved is None:
            C = ready.C
            return _Centers(self.device.put(C), None, self._norms(C), 0.0)
        C, shift, norms = ready.moved.C, ready.moved.shift, ready.moved.norms
        put = self.device.put
        moved = put(np.ascontiguousarray(C))
        return _Centers(moved, put(shift) if len(shift) else None, put(norms), float(norms.max()))

    def _norms(self, C: FloatArray) -> Any:
        return self.device.put((C * C).sum(axis=1))

    def grid_arguments(self) -> list[Any]:
        """Steps per unit of weight, offsets and units of columns."""
        if self.grid is None:
            return [np.float64(1.0), None, None]
        put = self.device.put
        return [np.float64(self.grid.mass), put(self.grid.offset), put(self.grid.unit)]

    def add(self, kernel: str, parts: Any, n: int, size: int, out: Any) -> None:
        """Add n parts to sums, in a fixed order."""
        blocks = min(size, PARTS)
        arguments = (parts, np.int32(n), np.int32(size), out)
        self.launch(kernel, (blocks,), THREADS, THREADS * 8, *arguments)


def hard_sums(
    rows: DeviceRows, centers: FloatArray, weight: FloatArray, grid: Grid | None
) -> tuple[Array, Array, Array] | None:
    """Counts, weights and sums of the rows nearest to each centre; None for too many centres."""
    step = _Step(rows, centers, weight, grid)
    k, columns = step.k, step.width + step.weighted
    if k > MOST_CLUSTERS:
        return None
    with rows.lock:
        counts = step.device.zeros((k,), np.int64)
        sums = step.device.zeros((k, columns), step.sum_type)
        ready, fused = step.put_centers(), _fuse(step, columns)
        for X, w, n in rows.parts(weight):
            if fused.copies:
                _add_fused(step, X, w, n, ready, fused, counts, sums)
            else:
                _add_labelled(step, X, w, n, _label(step, X, n, ready), counts, sums)
        held, found = step.device.get(counts), step.device.get(sums)
    total = np.ascontiguousarray(found[:, : step.width])
    if step.weighted:
        mass = found[:, step.width]
    else:
        mass = held * np.int64(grid.mass) if grid is not None else held.astype(np.float64)
    return (held if step.exact else held.astype(np.float64)), mass, total


def fuzzy_sums(
    rows: DeviceRows, centers: FloatArray, fuzzifier: float, weight: FloatArray, grid: Grid | None
) -> tuple[Array, Array]:
    """Sum of u^m and of u^m x per centre."""
    step = _Step(rows, centers, weight, grid, fuzzifier, in_double=True)
    with rows.lock:
        sums = step.device.zeros((step.k, step.width + 1), step.sum_type)
        ready, shared = step.put_centers(), _fuzzy_shared(step)
        for X, w, n in rows.parts(weight):
            if shared:
                _add_memberships(step, X, w, n, ready, shared, sums)
            else:
                _add_by_products(step, X, w, n, ready, sums)
        found = step.device.get(sums)
    return found[:, step.width].copy(), np.ascontiguousarray(found[:, : step.width])


def nearest(rows: DeviceRows, centers: FloatArray) -> tuple[IntArray, FloatArray]:
    """Each row's nearest centre and its squared distance."""
    step = _Step(rows, centers)
    labels, d2 = np.empty(rows.n, np.int32), np.empty(rows.n)
    with rows.lock:
        ready = step.put_centers()
        for (a, b), (X, _, n) in zip(rows.cuts, rows.parts(step.weight), strict=True):
            far = step.device.zeros((n,), np.float64)
            near = _label(step, X, n, ready, far)
            labels[a:b], d2[a:b] = step.device.get(near), step.device.get(far)
    return labels, d2


def memberships(rows: DeviceRows, centers: FloatArray, fuzzifier: float) -> tuple[FloatArray]:
    """Memberships (n, C)."""
    step = _Step(rows, centers, fuzzifier=fuzzifier, in_double=True)
    U = np.empty((rows.n, step.k))
    with rows.lock:
        ready = step.put_centers()
        for (start, _), (X, _, n) in zip(rows.cuts, rows.parts(step.weight), strict=True):
            for first, size in _scratches(step, n):
                D = _distances(step, X, first, size, ready)
                _weigh(step, D, None, first, size, powers=False)
                U[start + first : start + first + size] = step.device.get(D).T
    return (U,)


def _add_memberships(
    step: _Step, rows: Any, weight: Any, n: int, ready: _Centers, shared: int, sums: Any
) -> None:
    blocks = min(PARTS, -(-n // THREADS))
    parts = step.device.zeros((blocks, *sums.shape), step.sum_type)
    step.launch(
        "fuzzy_fused",
        (blocks,),
        THREADS,
        shared,
        *(rows, weight, np.int64(n), ready.moved, np.int32(step.k), ready.shift),
        *(np.float64(step.fuzzifier), *step.grid_arguments(), parts),
    )
    step.add("add_sums", parts, blocks, sums.size, sums)


class _Fused(NamedTuple):
    """How a block of the fused hard step adds rows."""

    copies: int  # sums side by side; 0: not even one for each warp fits
    shared: int  # bytes


def _fuse(step: _Step, columns: int) -> _Fused:
    if step.width > FUSED_FEATURES:
        return _Fused(0, 0)
    tile = _tile_rows(step) * ((step.width | 1) * step.rows.dtype.itemsize + 4) + 64
    fixed = tile + step.k * step.width * step.real.itemsize
    one = step.k * (columns + 1) * 8 * WARPS
    lanes = min(32, 2 ** math.ceil(math.log2(columns)))
    groups = max(0, min(32 // lanes, (SHARED - fixed) // one))
    return _Fused(groups * WARPS, fixed + groups * one)


def _tile_rows(step: _Step) -> int:
    """Rows that a block of a fused hard step loads at a time."""
    return THREADS * (2 if step.width <= DIRECT_FEATURES else 1)


def _add_fused(
    step: _Step,
    rows: Any,
    weight: Any,
    n: int,
    ready: _Centers,
    fused: _Fused,
    counts: Any,
    sums: Any,
) -> None:
    blocks = min(PARTS, -(-n // _tile_rows(step)))
    held = step.device.zeros((blocks, *counts.shape), np.int64)
    parts = step.device.zeros((blocks, *sums.shape), step.sum_type)
    step.launch(
        "hard_fused",
        (blocks,),
        THREADS,
        fused.shared,
        *(rows, weight, np.int64(n), ready.moved, np.int32(step.k), ready.shift),
        *(*step.grid_arguments(), np.int32(fused.copies), held, parts),
    )
    step.add("add_counts", held, blocks, counts.size, counts)
    step.add("add_sums", parts, blocks, sums.size, sums)


def _label(step: _Step, rows: Any, n: int, ready: _Centers, d2: Any = None) -> Any:
    """Labels; squared distances to the centres are written to `d2`, if wanted."""
    labels = step.device.zeros((n,), np.int32)
    if step.width <= FUSED_FEATURES:
        tile = _tile_rows(step) * (step.width | 1) * step.rows.dtype.itemsize + 64
        part = min(step.k, (SHARED // 2 - tile) // (step.width * step.real.itemsize))
        blocks = min(PARTS, -(-n // _tile_rows(step)))
        shared = tile + (part * step.width + 1) * step.real.itemsize
        arguments = (rows, np.int64(n), ready.moved, np.int32(step.k), ready.shift)
        step.launch(
            "nearest_fused", (blocks,), THREADS, shared, *arguments, np.int32(part), labels, d2
        )
        return labels
    doubtful, doubts = step.device.zeros((n,), np.int64), step.device.zeros((1,), np.uint64)
    blocks, real = min(PARTS, -(-n // SIDE)), step.real.type
    shared = (_PRODUCTS + 2 * SIDE * 16) * step.real.itemsize + SIDE * 16 * 4
    step.launch(
        "label_by_products",
        (blocks,),
        WIDE,
        shared,
        *(rows, np.int64(n), ready.moved, np.int32(step.k), ready.shift, ready.norms),
        *(real(ready.ceiling), real(DOUBT[step.real]), labels, doubtful, doubts),
    )
    step.launch(
        "settle_doubts",
        (blocks,),
        THREADS,
        THREADS * 12,
        *(rows, ready.moved, np.int32(step.k), ready.shift, doubtful, doubts, labels),
    )
    if d2 is not None:
        step.launch(
            "distances_to_labels",
            (min(PARTS, -(-n // THREADS)),),
            THREADS,
            0,
            *(rows, np.int64(n), ready.moved, ready.shift, labels, d2),
        )
    return labels


def _add_labelled(
    step: _Step, rows: Any, weight: Any, n: int, labels: Any, counts: Any, sums: Any
) -> None:
    k, columns = sums.shape
    room = (SHARED - 4 * k) // (8 * k)  # numbers by cluster
    width = min(16, columns, room)
    copies = max(1, min(THREADS // width, room // width))
    blocks = min(PARTS, -(-n // 1024), max(1, MOST_PARTS // sums.size))
    parts = step.device.zeros((blocks, *sums.shape), step.sum_type)
    step.launch(
        "sum_by_label",
        (blocks, -(-columns // width)),
        THREADS,
        k * (copies * width * 8 + 4),
        *(rows, weight, np.int64(n), labels, np.int32(k), np.int32(width), np.int32(copies)),
        *(*step.grid_arguments(), counts, parts),
    )
    step.add("add_sums", parts, blocks, sums.size, sums)


def _fuzzy_shared(step: _Step) -> int:
    """Shared memory of a block of the fused fuzzy step; 0: it does not fit."""
    k, columns = step.k, step.width + 1
    cells = -(-k // 4)
    if step.width > FUSED_FEATURES or cells * -(-columns // 4) > THREADS:
        return 0
    numbers = k * step.width + 4 * cells * THREADS + THREADS * (columns | 1) + 4
    size = numbers * 8 + THREADS * (step.width | 1) * step.rows.dtype.itemsize
    return size if size <= SHARED else 0


def _scratches(step: _Step, n: int) -> list[tuple[int, int]]:
    """Cut rows so that rows times clusters fit into the scratch memory."""
    size = max(SIDE, SCRATCH // step.k // SIDE * SIDE)
    return [(first, min(size, n - first)) for first in range(0, n, size)]


def _distances(step: _Step, rows: Any, first: int, size: int, ready: _Centers) -> Any:
    D = step.device.zeros((step.k, size), np.float64)
    lengths = step.device.zeros((size,), np.float64)
    at = (np.int64(first), np.int32(size))
    blocks = min(PARTS, -(-size // THREADS))
    step.launch("squares", (blocks,), THREADS, 0, rows, *at, ready.shift, lengths)
    step.launch(
        "distances",
        (-(-size // SIDE), -(-step.k // SIDE)),
        WIDE,
        _PRODUCTS * 8,
        *(rows, *at, ready.moved, np.int32(step.k), ready.shift, ready.norms, lengths, D),
    )
    return D


def _weigh(step: _Step, D: Any, weight: Any, first: int, size: int, *, powers: bool) -> None:
    blocks = min(PARTS, -(-size // THREADS))
    at = (np.int64(first), np.int32(size), np.int32(step.k))
    arguments = (D, weight, *at, np.float64(step.fuzzifier), np.int32(powers))
    step.launch("weigh_rows", (blocks,), THREADS, 0, *arguments)


def _add_by_products(
    step: _Step, rows: Any, weight: Any, n: int, ready: _Centers, sums: Any
) -> None:
    k, columns = sums.shape
    tiles = -(-k // SIDE) * -(-columns // SIDE)
    blocks = min(max(1, PARTS // tiles), -(-n // 1024), max(1, MOST_PARTS // sums.size))
    parts = step.device.zeros((blocks, *sums.shape), step.sum_type)
    for first, size in _scratches(step, n):
        D = _distances(step, rows, first, size, ready)
        _weigh(step, D, weight, first, size, powers=True)
        step.launch(
            "add_weighted",
            (blocks, -(-k // SIDE), -(-columns // SIDE)),
            WIDE,
            _PRODUCTS * 8,
            *(D, rows, np.int64(first), np.int32(size), np.int32(k)),
            *(*step.grid_arguments(), parts),
        )
    step.add("add_sums", parts, blocks, sums.size, sums)
