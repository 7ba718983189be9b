"""The hard step on a device: labels, counts and sums."""

import math
from typing import Any, NamedTuple

import numpy as np

from ...typing import Array, FloatArray, IntArray
from ..grid import Grid
from .device import SHARED
from .rows import DeviceRows
from .step import MOST_TILES, NARROW, PARTS, THREADS, WARPS, Centers, Step, blocks_for

MOST_PARTS = 2**24  # numbers of all parts of a sum
MOST_CLUSTERS = 8192  # counts of all clusters have to fit into a block
# What 16 bits and a rest leave out of a product, and what adding F of them may lose, both doubled.
SPLIT_ERROR, ADDING_ERROR = 2.0**-15, 2.0**-20
PART, CHUNK = 4, 8  # sixteens of centres and of features in a part of the centres
SEGMENT = 512  # rows of one label that a block adds up
AT_ONCE = 8  # rows in doubt that a block compares with all centres
COLUMNS_AT_ONCE = 64


def hard_sums(
    rows: DeviceRows, centers: FloatArray, weight: FloatArray, grid: Grid | None
) -> tuple[Array, Array, Array] | None:
    """Counts, weights and sums of the rows nearest to each centre; None for too many centres."""
    step = Step(rows, centers, weight, grid)
    k, columns = step.k, step.width + step.weighted
    if k > MOST_CLUSTERS:
        return None
    with rows.lock:
        out = step.device.zeros((k * (1 + columns),), step.sum_type)
        ready, shared = step.put_centers(), _shared_of_warps(step, columns)
        for X, w, n in rows.parts(weight):
            if shared:
                _add_in_warps(step, X, w, n, ready, shared, out)
            else:
                counts, sums = out[:k].view(np.int64), out[k:]
                _add_labelled(step, X, w, n, _label(step, X, n, ready), counts, sums)
        found = step.device.get(out)
    held, sums = found[:k].view(np.int64), found[k:].reshape(k, columns)
    total = np.ascontiguousarray(sums[:, : step.width])
    if step.weighted:
        mass = sums[:, step.width].copy()
    else:
        mass = held * np.int64(grid.mass) if grid is not None else held.astype(np.float64)
    return (held.copy() if step.exact else held.astype(np.float64)), mass, total


def nearest(rows: DeviceRows, centers: FloatArray) -> tuple[IntArray, FloatArray]:
    """Each row's nearest centre and its squared distance."""
    step = Step(rows, centers)
    labels, d2 = np.empty(rows.n, np.int32), np.empty(rows.n)
    with rows.lock:
        ready = step.put_centers()
        for (a, b), (X, _, n) in zip(rows.cuts, rows.parts(step.weight), strict=True):
            far = step.device.empty((n,), np.float64)
            near = _label(step, X, n, ready, far)
            labels[a:b], d2[a:b] = step.device.get(near), step.device.get(far)
    return labels, d2


def _rows_of_warp(step: Step) -> int:
    """Rows that a warp of a narrow hard step takes at a time."""
    return 64 if step.width <= 8 else 32


def _shared_of_warps(step: Step, columns: int) -> int:
    """Shared memory of a block whose warps keep all sums; 0: they do not fit."""
    eighths = -(-columns // 8)
    if step.width > NARROW or step.cells * eighths > MOST_TILES:
        return 0
    tiles = WARPS * 2 * _rows_of_warp(step) * step.row_stride
    sums = WARPS * step.cells * eighths * 128 * 8
    centers = -(-step.k * step.width * step.real.itemsize // 16) * 16
    size = tiles + sums + centers + WARPS * _rows_of_warp(step) * 4 + step.k * 4
    return size if size <= SHARED else 0


def _add_in_warps(
    step: Step, rows: Any, weight: Any, n: int, ready: Centers, shared: int, out: Any
) -> None:
    blocks = blocks_for(n, WARPS * _rows_of_warp(step))
    parts = step.device.empty((blocks, out.size), step.sum_type)
    step.launch(
        "hard_in_warps",
        (blocks,),
        THREADS,
        shared,
        *(rows, weight, np.int64(n), ready.moved, np.int32(step.k), ready.shift),
        *(*step.grid_arguments(), parts),
        cells=step.cells,
    )
    step.add_parts(parts, blocks, out, step.k)


def _label(step: Step, rows: Any, n: int, ready: Centers, d2: Any = None) -> Any:
    """Labels; squared distances to the centres are written to `d2`, if wanted."""
    labels = step.device.empty((n,), np.int32)
    if step.width <= NARROW:
        _label_by_differences(step, rows, n, ready, labels, d2)
        return labels
    _label_by_products(step, rows, n, ready, labels)
    if d2 is not None:
        arguments = (rows, np.int64(n), ready.moved, ready.shift, labels, d2)
        step.launch("distances_to_labels", (blocks_for(n, THREADS),), THREADS, 0, *arguments)
    return labels


def _label_by_differences(
    step: Step, rows: Any, n: int, ready: Centers, labels: Any, d2: Any
) -> None:
    block = WARPS * _rows_of_warp(step)
    tile = block * step.row_stride
    part = min(step.k, (SHARED // 2 - tile) // (step.width * step.real.itemsize))
    shared = tile + part * step.width * step.real.itemsize
    arguments = (rows, np.int64(n), ready.moved, np.int32(step.k), ready.shift, np.int32(part))
    grid = (blocks_for(n, block),)
    step.launch("nearest_fused", grid, THREADS, shared, *arguments, labels, d2)


class _Screen(NamedTuple):
    """Centres for scores from 16-bit products, which only say which rows are in doubt."""

    quads: Any
    columns: Any  # centres by feature
    scale: Any  # a power of two: rows and centres times it are near one
    bounds: Any  # squared lengths, and lengths
    error: Any
    turns: int


def _lay_out(step: Step, ready: Centers, doubts: Any) -> _Screen:
    real, steps = step.real.type, -(-step.width // 16)
    parts, chunks = -(-step.cells // PART), -(-steps // min(steps, CHUNK))
    exponent = math.frexp(float(np.abs(ready.host).max()))[1]
    # Where squares leave the range of the rows' type, so do scores: such rows are in doubt.
    reach = 126 if real is np.float32 else 400
    scale = math.ldexp(1.0, -max(-reach, min(reach, exponent)))
    bounds = step.device.empty((parts * PART * 16, 2), np.float32)
    columns = step.device.empty((step.width, step.k), step.real)
    given = (ready.moved, np.int32(step.k), np.int32(parts))
    blocks = blocks_for(parts * PART * 16, THREADS)
    measures = (np.float64(scale), bounds, columns, doubts)
    step.launch("measure_centers", (blocks,), THREADS, 0, *given, *measures)
    size = parts * chunks * (_part_bytes(step) // 16)
    quads = step.device.empty((size, 4), np.int32)
    layout = (real(scale), bounds, quads)
    step.launch("lay_out_centers", (blocks_for(size, THREADS),), THREADS, 0, *given, *layout)
    error = np.float32(SPLIT_ERROR + step.width * ADDING_ERROR)
    return _Screen(quads, columns, real(scale), bounds, error, parts * chunks)


def _part_bytes(step: Step) -> int:
    """Bytes of a chunk of a part of the centres, with their norms and lengths."""
    return PART * 16 * (min(-(-step.width // 16), CHUNK) * 64 + 8)


def _label_by_products(step: Step, rows: Any, n: int, ready: Centers, labels: Any) -> None:
    doubtful, doubts = step.device.empty((n,), np.int64), step.device.empty((1,), np.uint64)
    screen, threads = _lay_out(step, ready, doubts), 128 if step.width <= 64 else 256
    step.launch(
        "label_by_products",
        (blocks_for(n, threads // 2),),
        threads,
        (2 if screen.turns > 1 else 1) * _part_bytes(step) + threads // 2 * 4 * 16,
        *(rows, np.int64(n), screen.quads, np.int32(-(-step.k // 8)), ready.shift, screen.scale),
        *(screen.bounds, screen.error, labels, doubtful, doubts),
    )
    step.launch(
        "settle_doubts",
        (blocks_for(n, AT_ONCE),),
        THREADS,
        AT_ONCE * (step.width * 8 + THREADS * 12),
        *(rows, screen.columns, np.int32(step.k), ready.shift, doubtful, doubts, labels),
    )


def _add_labelled(
    step: Step, rows: Any, weight: Any, n: int, labels: Any, counts: Any, sums: Any
) -> None:
    k, columns = step.k, sums.size // step.k
    room = (SHARED - 4 * k) // (8 * k)  # numbers by cluster
    width = min(COLUMNS_AT_ONCE, columns)
    copies = min(THREADS // width, room // width)
    if copies * width < THREADS // 2:
        _add_ordered(step, rows, weight, n, labels, counts, sums)
        return
    blocks = min(blocks_for(n, 1024), max(1, MOST_PARTS // sums.size))
    parts = step.device.empty((blocks, sums.size), step.sum_type)
    step.launch(
        "sum_by_label",
        (blocks, -(-columns // width)),
        THREADS,
        k * (copies * width * 8 + 4),
        *(rows, weight, np.int64(n), labels, np.int32(k), np.int32(width), np.int32(copies)),
        *(*step.grid_arguments(), counts, parts),
    )
    step.add_parts(parts, blocks, sums)


def _add_ordered(
    step: Step, rows: Any, weight: Any, n: int, labels: Any, counts: Any, sums: Any
) -> None:
    """Sums for many clusters: rows are ordered by label, and each label's rows added up."""
    device, k, columns = step.device, step.k, sums.size // step.k
    parts = min(blocks_for(n, 1024), max(1, MOST_PARTS // k))
    table = device.empty((parts, k), np.int32)
    totals, order = device.empty((k,), np.int64), device.empty((n,), np.int32)
    starts, segments = device.empty((k + 1,), np.int32), device.empty((k + 1,), np.int32)
    size, most = np.int32(k), -(-n // SEGMENT) + k  # segments
    found = device.empty((most, columns), step.sum_type)
    by_part = (labels, np.int64(n), size, table)
    step.launch("count_by_part", (parts,), THREADS, 4 * k, *by_part)
    before = (table, np.int32(parts), size, totals)
    step.launch("add_up_parts", (-(-k // THREADS),), THREADS, 0, *before)
    step.launch("find_starts", (1,), THREADS, 8 * THREADS, totals, size, starts, segments)
    step.launch("order_rows", (parts,), THREADS, 4 * (k + THREADS), *by_part, starts, order)
    lanes = min(THREADS, 2 ** math.ceil(math.log2(columns)))
    step.launch(
        "sum_segments",
        (min(most, 8 * PARTS),),
        THREADS,
        THREADS * 8 + SEGMENT * 4,
        *(rows, weight, order, size, starts, segments, np.int32(lanes)),
        *(*step.grid_arguments(), found),
    )
    blocks, added = blocks_for(sums.size, THREADS), (found, segments, totals, size, counts, sums)
    step.launch("add_segments", (blocks,), THREADS, 0, *added)
