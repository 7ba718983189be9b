"""Partition a client's rows into small groups whose means can be sent instead of rows."""

from typing import NamedTuple

import numpy as np

from ..typing import Array, BoolArray, FloatArray, IntArray, Rng
from .local import DistinctRows, draw
from .steps import _UNIT, HardSums, divide_or_keep, hard_sums, nearest, sq_distances

_STEPS = 3  # Lloyd steps over the drawn groups
_STEP = 0.25  # to which outlying means are rounded, in typical distances of centres
_FAR = 4.0  # a small group takes rows that are at most this much farther than its neighbour


class RowGroups(NamedTuple):
    """Disjoint groups of rows: their plain means, and how much they stand for."""

    means: FloatArray  # (K, F)
    weight: FloatArray  # (K,)
    records: FloatArray  # (K,)


def group_rows(
    X: FloatArray, most: int, rng: Rng, weight: FloatArray = _UNIT, *, min_count: int
) -> RowGroups:
    """Up to `most` groups, each of at least `min_count` distinct rows; no row is in two groups.

    Groups start at rows that are drawn by their squared distance from those drawn before, so an
    outlying row has a group: it takes its nearest rows along. A mean ignores weights and copies,
    because a heavy or repeated row would dominate it. A value that at least `min_count` records
    share identifies none of them; it counts as no row, and may form a group by itself.

    Rows that cannot be grouped are in no group. The order of the rows does not matter.
    """
    distinct = DistinctRows(X, weight, min_count)
    rows, lone = distinct.rows, ~distinct.shared
    most = min(most, int(lone.sum()) // min_count + int(distinct.shared.sum()))
    if most == 0:
        return RowGroups(np.empty((0, X.shape[1])), np.empty(0), np.empty(0))
    centers: FloatArray = rows[_draw_spread(rows, distinct.weight, most, rng)].astype(np.float64)
    for _ in range(_STEPS):
        sums = hard_sums(rows, centers)
        centers = divide_or_keep(sums.total, sums.records, centers)
    labels = nearest(rows, centers)[0].astype(np.int64)
    _enlarge(rows, centers, labels, lone, min_count)
    kept = labels >= 0
    mass, records = distinct.weight, distinct.records
    if not kept.all():  # a copy of all rows takes as long as a step over them
        rows, labels, mass, records = rows[kept], labels[kept], mass[kept], records[kept]
    size = np.bincount(labels, minlength=len(centers))
    filled = size > 0

    def add(values: Array) -> FloatArray:
        return np.bincount(labels, values, len(centers))[filled].astype(np.float64)

    means = np.stack([add(column) for column in rows.T], axis=1) / size[filled, None]
    return RowGroups(means, add(mass), add(records))


def hide_small_sums(sums: HardSums, min_count: int, centers: FloatArray) -> HardSums:
    """Change sums by centres so that none shows fewer than `min_count` rows.

    A smaller sum joins the nearest one that has enough rows. If all of these are far, its mean is
    rounded in steps from the middle of the centres, of a quarter of their typical distance from
    it, and kept in their range. All this depends on the centres alone, which the receiver knows
    anyway. Steps that depended on the hidden sum would give it away.
    """
    small = np.flatnonzero((sums.records > 0) & (sums.records < min_count))
    if len(small) == 0:
        return sums
    records, masses, total = (np.array(part, dtype=np.float64) for part in sums)
    means = total / np.where(masses > 0, masses, 1.0)[:, None]
    filled = np.flatnonzero(records >= min_count)
    middle, width = _steps_around(centers)
    joins, near = small, np.zeros(len(small), dtype=bool)
    with np.errstate(over="ignore"):
        if len(filled):
            joins = filled[nearest(means[small], means[filled])[0]]
            near = (((means[small] - means[joins]) / width) ** 2).mean(axis=1) <= 1
        rounded = middle + np.rint((means[small] - middle) / width) * width
    rounded = np.clip(rounded, centers.min(axis=0), centers.max(axis=0))
    far = small[~near]
    total[far] = masses[far, None] * np.where(np.isfinite(rounded), rounded, middle)[~near]
    for part in (records, masses, total):
        np.add.at(part, joins[near], part[small[near]])
        part[small[near]] = 0
    return HardSums(records, masses, total)


def _steps_around(centers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The middle of centres, and the width of the steps to which outlying means are rounded."""
    middle: FloatArray = np.median(centers, axis=0)
    apart = np.abs(centers - middle)
    typical, mean = np.median(apart, axis=0), apart.mean(axis=0)
    spread = np.where(typical > 0, typical, mean)
    return middle, np.where(spread > 0, spread * _STEP, 1.0)


def _draw_spread(rows: FloatArray, weight: FloatArray, n: int, rng: Rng) -> IntArray:
    """Draw up to n different rows far from each other: in batches that double, by D^2 sampling.

    B. Bahmani et al. (2012), k-means||, draws several rows at once in the same way.
    """
    chosen = draw(weight, 1, rng)
    d2 = sq_distances(rows, rows[chosen])[:, 0]
    while len(chosen) < n and (mass := weight * d2).any():
        batch = np.unique(draw(mass, min(len(chosen), n - len(chosen)), rng))
        chosen = np.concatenate([chosen, batch])
        d2 = np.minimum(d2, nearest(rows, rows[batch])[1])
        d2[chosen] = 0.0
    return chosen


def _enlarge(
    rows: FloatArray, centers: FloatArray, labels: IntArray, lone: BoolArray, least: int
) -> None:
    """Change labels until every group has no lone row, or at least `least` of them.

    A small group takes the nearest rows that other groups can spare. If these are far compared
    with the nearest other group, its own rows join that group instead. Rows that find no group
    have the label -1.
    """
    size = np.bincount(labels[lone], minlength=len(centers))
    for group in np.argsort(size, kind="stable"):
        missing = least - size[group]
        if size[group] == 0 or missing <= 0:
            continue
        own = np.flatnonzero(lone & (labels == group))
        others = np.flatnonzero((size > 0) & (np.arange(len(size)) != group))
        if len(others) == 0:
            labels[own] = -1
            break
        neighbours, apart = nearest(rows[own], centers[others])
        spare = _spare_rows(labels, lone, size, least, missing, rows, centers[group])
        if len(spare) == missing and (
            sq_distances(rows[spare], centers[[group]]).mean() <= _FAR * apart.mean()
        ):
            np.subtract.at(size, labels[spare], 1)
            labels[spare] = group
            size[group] = least
        else:
            labels[own] = others[neighbours]
            np.add.at(size, labels[own], 1)
            size[group] = 0


def _spare_rows(
    labels: IntArray,
    lone: BoolArray,
    size: IntArray,
    least: int,
    n: int,
    rows: FloatArray,
    center: FloatArray,
) -> IntArray:
    """The n rows nearest to a centre that groups of more than `least` rows can spare."""
    candidates = np.flatnonzero(lone & (labels >= 0) & (size[np.maximum(labels, 0)] > least))
    order = np.argsort(sq_distances(rows[candidates], center[None])[:, 0], kind="stable")
    left, taken = size.copy(), []
    for row in candidates[order]:
        if left[labels[row]] > least:
            left[labels[row]] -= 1
            taken.append(row)
        if len(taken) == n:
            break
    return np.array(taken, dtype=np.int64)
