"""Singletons, complements and differences: records from the sums of several rounds.

A count of one is a record. A client's totals are the same in every round, so what it withholds
in one is the total less the rest. Two sums whose counts differ by one differ by a record, if it
lies in the unit cube and in the right cell of the right round. Each record found is taken out of
all rounds, which uncovers others.
"""

from collections.abc import Sequence

import numpy as np

from fedclust.kernels import nearest
from fedclust.typing import FloatArray, IntArray

from .server import Look

_ROUGHLY = 1e-6


def recovered(looks: Sequence[Look], who: str | None = None) -> FloatArray:
    """The records that a server can work out: of one sender, or of each by itself."""
    senders = {look.who for look in looks} if who is None else {who}
    found = [_of_one([look for look in looks if look.who == sender]) for sender in sorted(senders)]
    return (
        np.vstack([np.empty((0, looks[0].total.shape[1])), *found]) if looks else np.empty((0, 1))
    )


def _of_one(looks: Sequence[Look]) -> FloatArray:
    if not looks:
        return np.empty((0, 0))
    F = looks[0].total.shape[1]
    whole = _with_complements(looks)
    records: list[FloatArray] = []
    for _ in range(60):
        rows = _left(looks, whole, records)
        candidates = _candidates(looks, rows)
        new = candidates[_fitting(candidates, looks, rows)]
        if not len(new):
            break
        for x in new:
            if len(_fitting(x[None], looks, _left(looks, whole, records))):
                records.append(x)
    return np.array(records).reshape(-1, F)


Rows = tuple[FloatArray, FloatArray, IntArray, IntArray]  # counts, sums, of which look and cluster


def _with_complements(looks: Sequence[Look]) -> Rows:
    """All counts and sums, and what is missing where a round tells of fewer than the total."""
    count = np.concatenate([look.count for look in looks])
    total = np.vstack([look.total for look in looks])
    k = [len(look.count) for look in looks]
    at = np.repeat(np.arange(len(looks)), k)
    cluster = np.concatenate([np.arange(n) for n in k])
    sums = np.array([look.count.sum() for look in looks])
    fullest = int(np.argmax(sums))
    for t, look in enumerate(looks):
        hidden = np.flatnonzero(np.abs(look.count) < 0.5)
        if len(hidden) == 1 and sums[fullest] - sums[t] > 0.5:
            place = np.flatnonzero((at == t) & (cluster == hidden[0]))[0]
            count[place] = sums[fullest] - sums[t]
            total[place] = looks[fullest].total.sum(axis=0) - look.total.sum(axis=0)
    return count, total, at, cluster


def _left(looks: Sequence[Look], whole: Rows, records: Sequence[FloatArray]) -> Rows:
    """What the rounds tell of beside the records that are known."""
    count, total, at, cluster = whole
    count, total = count.copy(), total.copy()
    if not records:
        return count, total, at, cluster
    known = np.array(records)
    first = 0
    for look in looks:
        label = nearest(known, look.centers)[0] + first
        np.subtract.at(count, label, 1.0)
        np.subtract.at(total, label, known)
        first += len(look.count)
    return count, total, at, cluster


def _candidates(looks: Sequence[Look], rows: Rows) -> FloatArray:
    """Sums of one record, and differences of sums that differ by one."""
    count, total, at, cluster = rows
    found = [total[np.abs(count - 1.0) < _ROUGHLY]]
    differ = count[:, None] - count[None]
    more, less = np.nonzero((np.abs(differ - 1.0) < _ROUGHLY) & (count[None] > 0.5))
    apart = at[more] != at[less]
    more, less = more[apart], less[apart]
    gap = total[more] - total[less]
    inside = ((gap > -_ROUGHLY) & (gap < 1 + _ROUGHLY)).all(axis=1)
    more, less, gap = more[inside], less[inside], gap[inside]
    if len(gap):
        label = np.stack([nearest(gap, look.centers)[0] for look in looks])
        here = np.arange(len(gap))
        right = (label[at[more], here] == cluster[more]) & (label[at[less], here] != cluster[less])
        found.append(gap[right])
    every = np.vstack(found)
    return every[np.sort(np.unique(every.round(7), axis=0, return_index=True)[1])]


def _fitting(X: FloatArray, looks: Sequence[Look], rows: Rows) -> IntArray:
    """Which vectors can be in their cluster in every round, beside the records already known."""
    count, total, *_ = rows
    fits = ((X > -_ROUGHLY) & (X < 1 + _ROUGHLY)).all(axis=1)
    first = 0
    for look in looks:
        label = nearest(X, look.centers)[0]
        place = label + first
        first += len(look.count)
        told = np.abs(look.count[label]) >= 0.5  # otherwise this round does not tell of it
        left = count[place] - 1.0
        rest = total[place] - X
        beyond = (rest < -1e-5).any(axis=1) | (rest > left[:, None] + 1e-5).any(axis=1)
        fits &= ~(told & (beyond | (left < -_ROUGHLY)))
    return np.flatnonzero(fits)
