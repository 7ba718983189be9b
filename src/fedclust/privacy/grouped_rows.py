"""Rows that are averaged over fixed groups before anything is computed from them.

A client with `GroupedRows(5)` replaces every row by the mean of its group of at least five rows.
All that it computes is then a function of these means. Whatever a server asks, and however often,
it learns nothing else: this needs no count of equations and no comparison of answers. What it
takes is that the groups stay the same. `GroupMemory` keeps them, by column, beside the ledger.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..core import Batches, Data, Refusal, RoundContext, Stage, Transform, checks
from ..core.files import write_atomically
from ..kernels.microaggregation import microaggregate
from ..typing import FloatArray, IntArray
from .ledger import Ledger
from .policy import policy_of

_LEAST = 3  # rows of a group; the mean of two and one of them give the other


@dataclass(frozen=True)
class GroupedRows(Transform):
    """Use means of at least `size` rows in place of rows."""

    size: int = 5

    stage: ClassVar[Stage] = Stage.SUPPRESS

    def __post_init__(self) -> None:
        checks.integer(self, "size", _LEAST)

    def at_source(self, data: Data | Batches, context: RoundContext) -> Data | Batches:
        if data.grouped >= self.size:  # when the rows were made, before values were filled in
            return data
        memory: GroupMemory = policy_of(context.data).groups
        return memory.group(data, self.size)


def group_size(transforms: Sequence[Transform]) -> int:
    """The size of the groups that a plan asks for; 0: it takes rows as they are."""
    return max((t.size for t in transforms if isinstance(t, GroupedRows)), default=0)


@dataclass(frozen=True, eq=False)
class ColumnBatch:
    """Some rows: columns as numbers, and what each column held before it was encoded."""

    rows: FloatArray  # (n, F)
    raw: Sequence[bytes]  # of each named column


@dataclass(frozen=True, eq=False)
class FixedGroups:
    """The group of each row, for every encoded column; negative: in no group."""

    labels: tuple[IntArray, ...]  # (N,) each
    which: IntArray  # (F,) index of the labels of a column

    def averaged(self, rows: FloatArray, first: int, weight: FloatArray | None = None) -> Data:
        """Rows number `first` and following, as means of their groups.

        A column is missing in a group if it is missing in any of its rows.
        """
        means = np.full(rows.shape, np.nan, dtype=rows.dtype)
        held = np.zeros(len(rows), dtype=bool)
        w = np.ones(len(rows)) if weight is None or len(weight) == 0 else weight
        for g, labels in enumerate(self.labels):
            own, columns = labels[first : first + len(rows)], np.flatnonzero(self.which == g)
            size = np.bincount(labels[labels >= 0], minlength=1)
            held |= own >= 0
            for f in columns:
                means[:, f] = _group_means(rows[:, f], own, size, w)
        return Data(means[held], w[held] if weight is not None and len(weight) else np.empty(0))


def _group_means(x: FloatArray, own: IntArray, size: IntArray, weight: FloatArray) -> FloatArray:
    found = (own >= 0) & ~np.isnan(x)
    k, groups, w = len(size), own[found], weight[found]
    complete = np.bincount(groups, minlength=k) == size
    mass = np.bincount(groups, w, k)
    mean = np.where(complete, np.bincount(groups, w * x[found], k) / np.maximum(mass, 1e-300), 0)
    at = np.maximum(own, 0)
    means: FloatArray = np.where((own >= 0) & complete[at], mean[at], np.nan)
    return means


@dataclass
class _Memory:
    """What is kept: the groups, and by column which of them and a digest of its values."""

    n_rows: int = 0
    size: int = 0
    labels: list[IntArray] = field(default_factory=list)
    columns: dict[str, tuple[int, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | None) -> "_Memory":
        if path is None or not path.exists():
            return cls()
        with np.load(path, allow_pickle=False) as saved:
            index = json.loads(bytes(saved["index"]).decode())
            labels = [saved[f"g{i}"] for i in range(index["groupings"])]
        columns = {name: (int(g), str(seen)) for name, (g, seen) in index["columns"].items()}
        return cls(index["n_rows"], index["size"], labels, columns)

    def save(self, path: Path) -> None:
        index = {
            "n_rows": self.n_rows,
            "size": self.size,
            "groupings": len(self.labels),
            "columns": self.columns,
        }
        arrays: dict[str, Any] = {f"g{i}": labels for i, labels in enumerate(self.labels)}
        arrays["index"] = np.frombuffer(json.dumps(index).encode(), dtype=np.uint8)
        buffer = BytesIO()
        np.savez_compressed(buffer, **arrays)
        write_atomically(path, lambda file: file.write(buffer.getvalue()), mode=0o600)


class GroupMemory:
    """The groups of one data set: made when a column is first used, and never changed."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._kept, self._resets = _Memory(), ledger.resets
        self._last: tuple[Any, int, int, Data | Batches] | None = None

    def group(self, data: Data | Batches, size: int) -> Data | Batches:
        """The means of a table whose columns have no names."""
        known = data.read if isinstance(data, Batches) else data.X
        now = (size, self._ledger.resets)
        if self._last is None or self._last[0] is not known or self._last[1:3] != now:
            self._last = (known, *now, self._group(data, size))
        return self._last[3]

    def _group(self, data: Data | Batches, size: int) -> Data | Batches:
        parts = data if isinstance(data, Batches) else [data]
        names = [str(f) for f in range(data.shape[1])]

        def read() -> Iterator[ColumnBatch]:
            for part in parts:
                yield ColumnBatch(part.X, [column.tobytes() for column in part.X.T])

        groups = self.fix(names, [1] * len(names), read, size)
        if isinstance(data, Data):
            means = groups.averaged(data.X, 0, data.weight)
            return replace(data, X=means.X, weight=means.weight, grouped=size)
        return replace(data, read=lambda: _average_parts(data, groups), grouped=size)

    def fix(
        self,
        names: Sequence[str],
        widths: Sequence[int],
        read: Callable[[], Iterable[ColumnBatch]],
        size: int,
        *,
        standardize: bool = False,
    ) -> FixedGroups:
        """The groups of these columns; new columns get groups together, under the ledger's lock."""
        with self._ledger.transaction() as entries:
            path = self._ledger.memory
            kept = self._recall() if path is None else _Memory.load(path)
            n_rows, seen = _digests(read(), len(names))
            if not self._ledger.grouped <= kept.columns.keys():
                raise Refusal(
                    "the file with the groups of its rows was removed or replaced; its owner may "
                    "reset the ledger",
                    private=f"missing or incomplete: {path}",
                )
            self._check(kept, names, n_rows, seen, size)
            new = [i for i, name in enumerate(names) if name not in kept.columns]
            if new:
                ends = np.cumsum(widths)
                chosen = np.concatenate([np.arange(ends[i] - widths[i], ends[i]) for i in new])
                kept.labels.append(_make_groups(read(), chosen, n_rows, size, standardize))
                at = len(kept.labels) - 1
                kept.columns |= {names[i]: (at, seen[i]) for i in new}
                kept.n_rows, kept.size = n_rows, size
                if path is not None:
                    kept.save(path)
                entries.fix_groups([names[i] for i in new])
            self._kept, self._resets = kept, self._ledger.resets
        which = np.repeat([kept.columns[name][0] for name in names], widths)
        return FixedGroups(tuple(kept.labels), which)

    def _recall(self) -> _Memory:
        return self._kept if self._resets == self._ledger.resets else _Memory()

    @staticmethod
    def _check(
        kept: _Memory, names: Sequence[str], n_rows: int, seen: Sequence[str], size: int
    ) -> None:
        if not kept.columns:
            return
        changed = n_rows != kept.n_rows or any(
            kept.columns.get(name, (0, now))[1] != now
            for name, now in zip(names, seen, strict=True)
        )
        if changed:
            raise Refusal(
                "the data have changed since rows were first averaged, and answers before and "
                "after would show the changed rows; its owner may reset the ledger"
            )
        if size > kept.size:
            raise Refusal(
                f"the rows are averaged in groups of {kept.size}, and the study asks for groups "
                f"of {size}; two groupings of the same rows would show single ones"
            )


def _average_parts(data: Batches, groups: FixedGroups) -> Iterator[Data]:
    first = 0
    for part in data:
        yield replace(groups.averaged(part.X, first, part.weight), policy=part.policy)
        first += len(part)


def _digests(batches: Iterable[ColumnBatch], n_columns: int) -> tuple[int, list[str]]:
    """The number of rows, and a digest of what each column holds."""
    n_rows, found = 0, [hashlib.sha256() for _ in range(n_columns)]
    for batch in batches:
        n_rows += len(batch.rows)
        for digest, raw in zip(found, batch.raw, strict=True):
            digest.update(raw)
    return n_rows, [digest.hexdigest() for digest in found]


def _make_groups(
    batches: Iterable[ColumnBatch], columns: IntArray, n_rows: int, size: int, standardize: bool
) -> IntArray:
    """Groups within each batch; a client of fewer than two groups has none."""
    labels, first, top = np.full(n_rows, -1, dtype=np.int32), 0, 0
    for batch in batches if n_rows >= 2 * size else ():
        rows = batch.rows[:, columns].astype(np.float64)
        if standardize:
            rows = rows / _spread(rows)
        found = _group_batch(rows, size)
        labels[first : first + len(rows)] = np.where(found >= 0, found + top, -1)
        first, top = first + len(rows), top + int(found.max(initial=-1)) + 1
    return labels


def _spread(rows: FloatArray) -> FloatArray:
    present = ~np.isnan(rows)
    count = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, rows, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(present, rows - mean, 0.0) ** 2).sum(axis=0) / count)
    positive: FloatArray = np.where(spread > 0, spread, 1.0)
    return positive


def _group_batch(rows: FloatArray, size: int) -> IntArray:
    """Rows with the same missing values together, as far as there are enough of them."""
    labels = np.full(len(rows), -1, dtype=np.int64)
    if len(rows) == 0:
        return labels
    missing = np.isnan(rows)
    pattern = np.unique(missing, axis=0, return_inverse=True)[1].reshape(-1)
    enough = np.bincount(pattern) >= size
    rest = np.flatnonzero(~enough[pattern])
    parts = [np.flatnonzero(pattern == p) for p in np.flatnonzero(enough)]
    top = 0
    for part in [*parts, rest] if len(rest) >= size else parts:
        labels[part] = microaggregate(np.where(missing[part], 0.0, rows[part]), size) + top
        top = int(labels.max()) + 1
    return labels
