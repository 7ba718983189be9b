"""The fuzzy step on a device: memberships, and sums weighted by their powers."""

from typing import Any, NamedTuple

import numpy as np

from ...typing import Array, FloatArray
from ..grid import Grid
from .device import SHARED
from .hard import MOST_PARTS
from .rows import DeviceRows
from .step import MOST_TILES, NARROW, PARTS, THREADS, WARPS, Centers, Step, blocks_for

SIDE, WIDE = 64, 256  # of tiles of products: rows and centres, threads
BLOCK_SIDE = 64  # features, and clusters, of a block that keeps all sums in registers
SCRATCH = 2**25  # numbers of a matrix of some rows times clusters: 256 MB
PITCH = 36  # numbers from cluster to cluster of a warp's memberships

_PRODUCTS = 2 * 16 * (SIDE + 1)  # numbers of two tiles


def fuzzy_sums(
    rows: DeviceRows, centers: FloatArray, fuzzifier: float, weight: FloatArray, grid: Grid | None
) -> tuple[Array, Array]:
    """Sum of u^m and of u^m x per centre."""
    step = Step(rows, centers, weight, grid, fuzzifier, in_double=True)
    with rows.lock:
        sums = step.device.zeros((step.k, step.width + 1), step.sum_type)
        ready = step.put_centers()
        fused = _fused_kernel(step)
        for X, w, n in rows.parts(weight):
            if fused:
                _add_in_one_pass(step, X, w, n, ready, fused, sums)
            else:
                _add_by_products(step, X, w, n, ready, sums)
        found = step.device.get(sums)
    return found[:, step.width].copy(), np.ascontiguousarray(found[:, : step.width])


def memberships(rows: DeviceRows, centers: FloatArray, fuzzifier: float) -> tuple[FloatArray]:
    """Memberships (n, C)."""
    step = Step(rows, centers, fuzzifier=fuzzifier, in_double=True)
    U = np.empty((rows.n, step.k))
    with rows.lock:
        ready = step.put_centers()
        for (start, _), (X, _, n) in zip(rows.cuts, rows.parts(step.weight), strict=True):
            for first, size in _scratches(step, n):
                D = _distances(step, X, first, size, ready)
                _weigh(step, D, None, first, size, powers=False)
                U[start + first : start + first + size] = step.device.get(D).T
    return (U,)


class _Fused(NamedTuple):
    """A kernel that reads every row once."""

    kernel: str
    rows: int  # of a block at a time
    shared: int  # bytes


def _fused_kernel(step: Step) -> _Fused | None:
    """The kernel that takes so many features and clusters in one pass, if any."""
    if step.exact:
        found = _Fused("fuzzy_fused", THREADS, _shared_of_rounding(step))
    elif step.width <= NARROW and step.cells * -(-(step.width + 1) // 8) <= MOST_TILES:
        found = _Fused("fuzzy_in_warps", THREADS, _shared_of_warps(step))
    elif step.width <= BLOCK_SIDE and step.k <= BLOCK_SIDE:
        found = _Fused("fuzzy_in_blocks", 32, _shared_of_block(step))
    else:
        return None
    return found if 0 < found.shared <= SHARED else None


def _shared_of_warps(step: Step) -> int:
    tiles = WARPS * 2 * 32 * step.row_stride
    centers = (step.k * step.width + 1) // 2 * 16
    sums = WARPS * step.cells * -(-(step.width + 1) // 8) * 128 * 8
    return tiles + max(sums, centers + WARPS * step.cells * 16 * PITCH * 8)


def _shared_of_block(step: Step) -> int:
    columns, clusters = -(-step.width // 8) * 8, step.cells * 16
    numbers = clusters * (columns + 4 + PITCH + 1) + columns + THREADS + 2
    tiles = 2 if step.rows.dtype.itemsize == 4 else 1
    return numbers * 8 + tiles * 32 * (columns + 4) * step.rows.dtype.itemsize


def _shared_of_rounding(step: Step) -> int:
    """Memory of a block that rounds every product; 0: it has too few threads."""
    k, columns = step.k, step.width + 1
    cells = -(-k // 4)
    if step.width > NARROW or cells * -(-columns // 4) > THREADS:
        return 0
    numbers = k * step.width + 4 * cells * THREADS + THREADS * (columns | 1) + 4
    return numbers * 8 + THREADS * step.row_stride


def _add_in_one_pass(
    step: Step, rows: Any, weight: Any, n: int, ready: Centers, fused: _Fused, sums: Any
) -> None:
    blocks = blocks_for(n, fused.rows)
    parts = step.device.empty((blocks, *sums.shape), step.sum_type)
    grid = step.grid_arguments() if step.exact else []
    step.launch(
        fused.kernel,
        (blocks,),
        THREADS,
        fused.shared,
        *(rows, weight, np.int64(n), ready.moved, np.int32(step.k), ready.shift),
        *(np.float64(step.fuzzifier), *grid, parts),
        cells=0 if step.exact else step.cells,
    )
    step.add_parts(parts, blocks, sums)


def _scratches(step: Step, n: int) -> list[tuple[int, int]]:
    """Cut rows so that rows times clusters fit into the scratch memory."""
    size = max(SIDE, SCRATCH // step.k // SIDE * SIDE)
    return [(first, min(size, n - first)) for first in range(0, n, size)]


def _distances(step: Step, rows: Any, first: int, size: int, ready: Centers) -> Any:
    D = step.device.empty((step.k, size), np.float64)
    lengths = step.device.empty((size,), np.float64)
    norms = step.device.put((ready.host * ready.host).sum(axis=1))
    at = (np.int64(first), np.int32(size))
    step.launch(
        "squares", (blocks_for(size, THREADS),), THREADS, 0, rows, *at, ready.shift, lengths
    )
    step.launch(
        "distances",
        (-(-size // SIDE), -(-step.k // SIDE)),
        WIDE,
        _PRODUCTS * 8,
        *(rows, *at, ready.moved, np.int32(step.k), ready.shift, norms, lengths, D),
    )
    return D


def _weigh(step: Step, D: Any, weight: Any, first: int, size: int, *, powers: bool) -> None:
    at = (np.int64(first), np.int32(size), np.int32(step.k))
    arguments = (D, weight, *at, np.float64(step.fuzzifier), np.int32(powers))
    step.launch("weigh_rows", (blocks_for(size, THREADS),), THREADS, 0, *arguments)


def _add_by_products(step: Step, rows: Any, weight: Any, n: int, ready: Centers, sums: Any) -> None:
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
    step.add_parts(parts, blocks, sums)
