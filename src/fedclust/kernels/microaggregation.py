"""Partition rows into groups of near rows, none smaller than a given size (microaggregation)."""

import numpy as np

from ..typing import BoolArray, FloatArray, IntArray

_MOST_ROWS = 1_000  # that are grouped at once: the time grows with the square
_PASSES = 3  # over all groups, to improve them


def microaggregate(X: FloatArray, size: int) -> IntArray:
    """The group of each row: at least `size` rows per group, near each other.

    Fewer than twice `size` rows are one group. The groups are those of MDAV (Domingo-Ferrer and
    Torra, 2005), improved by moving rows and dissolving groups while that makes the groups
    narrower. Large tables are cut along their principal axis first.
    """
    labels = np.zeros(len(X), dtype=np.int64)
    first = 0
    for part in _parts(np.asarray(X, dtype=np.float64), np.arange(len(X))):
        rows = np.asarray(X[part], dtype=np.float64)
        found = _improve(rows, _form_groups(rows, size), size)
        labels[part] = found + first
        first += int(found.max(initial=-1)) + 1
    return labels


def _parts(X: FloatArray, rows: IntArray) -> list[IntArray]:
    """Parts of the rows that are small enough, cut at medians along principal axes."""
    if len(rows) <= _MOST_ROWS:
        return [rows]
    centred = X[rows] - X[rows].mean(axis=0)
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    order = np.argsort(centred @ axis, kind="stable")
    half = len(rows) // 2
    return [*_parts(X, rows[order[:half]]), *_parts(X, rows[order[half:]])]


def _form_groups(X: FloatArray, size: int) -> IntArray:
    """MDAV without its second group per step: the outermost row takes its nearest rows."""
    labels = np.zeros(len(X), dtype=np.int64)
    left, group = np.arange(len(X)), 0
    outlying = ((X - X.mean(axis=0)) ** 2).sum(axis=1) if len(X) else np.empty(0)
    while len(left) >= 2 * size:
        outermost = left[outlying[left].argmax()]
        apart = ((X[left] - X[outermost]) ** 2).sum(axis=1)
        taken = np.argsort(apart, kind="stable")[:size]
        labels[left[taken]] = group
        left, group = np.delete(left, taken), group + 1
    labels[left] = group
    return labels


def _improve(X: FloatArray, labels: IntArray, size: int) -> IntArray:
    """Move rows to nearer groups, and dissolve groups that are wider than their rows elsewhere."""
    groups = _Groups(X, labels)
    for _ in range(_PASSES):
        changed = [groups.improve(int(g), size) for g in np.argsort(-groups.width(), kind="stable")]
        if not any(changed):
            break
    return np.unique(groups.labels, return_inverse=True)[1].astype(np.int64)


class _Groups:
    """Groups with their means, which change as rows move."""

    def __init__(self, X: FloatArray, labels: IntArray) -> None:
        self.X, self.labels = X, labels.copy()
        self.count = np.bincount(labels)
        total = np.stack([np.bincount(labels, column) for column in X.T], axis=1)
        self.mean = total / self.count[:, None]

    def width(self) -> FloatArray:
        """The mean squared distance of a group's rows from its mean."""
        apart = ((self.X - self.mean[self.labels]) ** 2).sum(axis=1)
        return np.bincount(self.labels, apart, len(self.count)) / np.maximum(self.count, 1)

    def improve(self, group: int, size: int) -> bool:
        """Whether rows of the group went elsewhere."""
        own = np.flatnonzero(self.labels == group)
        others = np.flatnonzero((self.count > 0) & (np.arange(len(self.count)) != group))
        if len(own) == 0 or len(others) == 0:
            return False
        here = ((self.X[own] - self.mean[group]) ** 2).sum(axis=1)
        apart = ((self.X[own][:, None] - self.mean[others]) ** 2).sum(axis=2)
        to = others[apart.argmin(axis=1)]
        there = apart.min(axis=1) * self.count[to] / (self.count[to] + 1)
        if there.sum() < here.sum():
            moved: BoolArray = np.ones(len(own), dtype=bool)
        else:
            gain = here * len(own) / max(len(own) - 1, 1) - there
            best = np.argsort(-gain, kind="stable")[: max(len(own) - size, 0)]
            moved = np.isin(np.arange(len(own)), best) & (gain > 1e-12)
        for row, target in zip(own[moved], to[moved], strict=True):
            self._move(int(row), group, int(target))
        return bool(moved.any())

    def _move(self, row: int, group: int, target: int) -> None:
        self.labels[row] = target
        self.count[target] += 1
        self.mean[target] += (self.X[row] - self.mean[target]) / self.count[target]
        self.count[group] -= 1
        if self.count[group]:
            self.mean[group] -= (self.X[row] - self.mean[group]) / self.count[group]
