"""The differencing guard: a server that keeps all messages must not see sums that differ by few.

If a single record changes cluster between two messages, their difference is that record. So a
client sends new sums of a cluster only if its members differ from every set it has released before
by none or by at least `change` of them; else it repeats what it sent last. Sums over all clusters
are known, hence clusters that exchange records are released together or not at all. This is a
heuristic: it stops the attacks of tests/attacks, it proves nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..core import (
    AnyAlgorithm,
    Batches,
    ConfigError,
    Data,
    Message,
    Refusal,
    RoundContext,
    Stage,
    Transform,
    checks,
)
from ..kernels import nearest
from ..typing import BoolArray, IntArray
from .policy import policy_of
from .queries import plan_digest, query_digest

M = TypeVar("M", bound=Message)
PAIRED = 40  # clusters up to which unions of two are looked at: they grow with the square


@dataclass(frozen=True)
class ChangeGuard(Transform):
    """Repeat the last message of clusters of which too few members changed."""

    change: int = 5

    stage: ClassVar[Stage] = Stage.SUPPRESS

    def __post_init__(self) -> None:
        checks.integer(self, "change", 2)

    def check(self, algorithm: AnyAlgorithm) -> None:
        if not algorithm.traits.disjoint:
            raise ConfigError(
                f"ChangeGuard: {algorithm.key} has no sums of disjoint clusters to compare; use "
                "'llf-cm'"
            )

    def at_client(self, message: M, context: RoundContext) -> M:
        policy, data = policy_of(context.data), context.data
        if data is None or len(data) == 0:
            return message
        query, run = query_digest(context), plan_digest(context.plan)
        if query not in policy.last:
            if any(len(before) != len(data) for before in policy.released):
                raise Refusal(
                    "the number of rows has changed since the last release; a guard "
                    "cannot compare them: reset the ledger"
                )
            last = policy.last.get(run) or _Release(np.full(len(data), -1), message.identity())
            k = len(context.down.centers)  # type: ignore[union-attr]
            now = self._decided(message, k, _labels(context, data), last, policy.released)
            policy.last[run] = policy.last[query] = now
            policy.remember(now.labels)
        released: M = policy.last[query].message
        return released

    def _decided(
        self, message: Any, k: int, labels: IntArray, last: "_Release", past: Sequence[IntArray]
    ) -> "_Release":
        near, sets = self._too_close(labels, past, k)
        few = sets.sum(axis=1) <= 2
        bad: BoolArray = (near & few) @ sets > 0
        size = np.bincount(labels, minlength=k)
        while not bad.all():
            bad = _together(bad, last.labels, labels, k)
            kept = np.isin(last.labels, np.flatnonzero(bad))
            released = np.where(kept, last.labels, np.where(bad[labels], -1, labels))
            if not self._too_close(released, past, k)[0].any():
                new, old = message.keep(~bad), last.message.keep(bad)
                return _Release(released, type(message).merge([new, old]))
            # What is withheld may itself be few records: withhold the next smallest cluster too.
            bad = bad | (np.arange(k) == np.argmin(np.where(bad, len(labels) + 1, size)))
        return last

    def _too_close(
        self, labels: IntArray, past: Sequence[IntArray], k: int
    ) -> tuple[BoolArray, IntArray]:
        """Which unions of clusters differ too little from what was released before, and the unions.

        From none at all and from everything as well: the sum of all records may be known.
        """
        n, now = len(labels), _unions(k)
        size = now @ np.bincount(labels[labels >= 0], minlength=k)
        near: BoolArray = _few(size, self.change) | _few(n - size, self.change)
        for before in past:
            top = int(before.max()) + 1
            then, there = _unions(top), (before >= 0) & (labels >= 0)
            both = np.bincount(before[there] * k + labels[there], minlength=top * k)
            sizes = then @ np.bincount(before[before >= 0], minlength=top)
            differ = sizes[:, None] + size - 2 * (then @ both.reshape(top, k) @ now.T)
            near |= (_few(differ, self.change) | _few(n - differ, self.change)).any(axis=0)
        return near, now


@cache
def _unions(k: int) -> IntArray:
    """One cluster, two together, and all but one or two or none, as rows of ones."""
    one = np.eye(k, dtype=np.int64)
    first, second = np.triu_indices(k if k <= PAIRED else 0, 1)
    few = np.vstack([one, one[first] + one[second]])
    return np.unique(np.vstack([few, 1 - few, np.ones((1, k), np.int64)]), axis=0)


@dataclass(frozen=True, eq=False)
class _Release:
    """What the server last heard: of which records, in which cluster, in which message."""

    labels: IntArray  # (N,) negative where a record is in no released cluster
    message: Any = field(repr=False)


def _labels(context: RoundContext, data: Data | Batches) -> IntArray:
    parts = data if isinstance(data, Batches) else [data]
    centers = context.down.centers  # type: ignore[union-attr]
    return np.concatenate([nearest(part.X, centers)[0] for part in parts]).astype(np.int64)


def _few(count: Any, change: int) -> Any:
    return (count > 0) & (count < change)


def _together(bad: BoolArray, before: IntArray, now: IntArray, k: int) -> BoolArray:
    """Clusters that exchanged records with a withheld one are withheld as well."""
    there = before >= 0
    flow = np.bincount(before[there] * k + now[there], minlength=k * k).reshape(k, k) > 0
    linked = flow | flow.T | np.eye(k, dtype=bool)
    while True:
        more: BoolArray = linked[bad].any(axis=0)  # type: ignore[assignment]
        if (more == bad).all():
            return bad
        bad = more
