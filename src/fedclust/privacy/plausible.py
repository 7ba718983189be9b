"""What no honest client can send: looked for in every message that can be read, at no loss.

Sums of rows within public bounds obey laws: weights are not negative, means lie within the bounds,
k-means conserves a client's sums over all clusters, fuzzy weights have a least and a most. A client
that breaks one is left out from then on. Under masks single messages cannot be read; there only
the totals can be checked (`conservation`, `FixedPoint.at_server`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core import Channel, Code, Message, Plan, Reason, Request, Schema, Stage
from ..core.channel import Wrapper
from ..typing import FloatArray
from .conservation import are_within_bounds
from .fixed_point import FixedPoint

_ROUNDING = 1e-9  # of the largest value: sums in floats keep about so much
CAP = 100.0  # times the median: no client may have more records


class CheckedChannel(Wrapper):
    """The clients of another channel, less those whose sums cannot be sums of rows.

    ``records`` are the clients' sizes as enrolled, where they are known. ``left_out`` says who was
    left out, and why; ``note`` is called when it happens.
    """

    def __init__(
        self,
        channel: Channel,
        schema: Schema,
        *,
        records: Mapping[str, int] | None = None,
        cap: float = CAP,
        note: Callable[[Plan, Request, str, str], object] = lambda *_: None,
    ) -> None:
        super().__init__(channel)
        self._schema, self._note = schema, note
        self._records, self._cap = dict(records or {}), cap
        self._first: dict[tuple[str, str], FloatArray] = {}
        self.left_out: dict[str, str] = {}

    def clients(self) -> Iterable[str]:
        """Those that were not left out."""
        return [c for c in self.channel.clients() if c not in self.left_out]

    def reasons(self) -> Mapping[str, Reason]:
        """Why clients were left out, besides what the channel behind knows."""
        left_out = {c: Reason(Code.REPLY, why) for c, why in self.left_out.items()}
        return {**super().reasons(), **left_out}

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        """The replies of those that sent what an honest client can send."""
        if any(t.stage == Stage.MASK for t in plan.transforms):
            yield from self.channel.ask(plan, request)  # single messages cannot be read
            return
        replies = dict(self.channel.ask(plan, request))
        sums = {c: _sums(plan, request, m) for c, m in replies.items()}
        sizes = [table.size for tables in sums.values() for table in tables]
        usual = float(np.median(sizes)) if sizes else 0.0
        for client, message in replies.items():
            checked = (self._odd(plan, client, table, usual) for table in sums[client])
            odd = next(filter(None, checked), None)
            if odd is None:
                yield client, message
            else:
                self.left_out[client] = f"round {request.round}: {odd}"
                self._note(plan, request, client, f"left out from now on: {odd}")

    def _odd(self, plan: Plan, client: str, sums: "_Table", usual: float) -> str | None:
        weight, total, size = sums.weight, sums.total, sums.size
        if not np.isfinite(sums.rows).all() or (weight < 0).any() or not sums.possible:
            return "weights that are negative, or values that are no numbers"
        enrolled = self._records.get(client)
        if size > self._cap * max(usual, 1.0) or (enrolled and size > enrolled * (1 + _ROUNDING)):
            return "more records than it can have"
        if not self._within_bounds(weight, total):
            return "means outside the public bounds"
        if any(t.stage < Stage.ENCODE for t in plan.transforms):
            return None  # something is withheld
        if not (plan.algorithm.traits.conserves or sums.more.size):
            return None if sums.by_cell else self._shares(plan, enrolled, size)
        missed = 0.0 if enrolled is None or sums.by_cell else abs(size - enrolled)
        if enrolled is not None and missed > enrolled * _ROUNDING:
            return "other records than it enrolled"
        return self._conserved(plan, client, sums.rows)

    def _within_bounds(self, weight: FloatArray, total: FloatArray) -> bool:
        if self._schema.low is None or self._schema.high is None:
            return True
        return are_within_bounds(weight, total, self._schema.low, self._schema.high)

    def _conserved(self, plan: Plan, client: str, sums: FloatArray) -> str | None:
        now = sums.sum(axis=0)
        grid = [repr(t) for t in plan.transforms if t.stage == Stage.ENCODE]
        before = self._first.setdefault((client, "".join(grid)), now)
        slack = _ROUNDING * max(1.0, float(np.abs(before).max()), float(np.abs(sums).sum()))
        if np.abs(now - before).max() > slack:
            return "sums over all clusters that changed since its first round"
        return None

    def _shares(self, plan: Plan, enrolled: int | None, size: float) -> str | None:
        """Memberships sum to one, so their powers sum to C^(1-m) at least."""
        m = plan.algorithm.parameter("fuzzifier")
        if m is None or enrolled is None:
            return None
        least = enrolled * plan.algorithm.n_clusters ** (1.0 - m)
        return None if size >= least * (1 - _ROUNDING) else "weights less than memberships sum to"


class _Table(NamedTuple):
    """Weights by cluster, or by cluster and column where cells are missing, and sums."""

    weight: FloatArray  # (C,) or (C, F)
    total: FloatArray  # (C, F)
    more: FloatArray = np.empty(0)  # (C, 1 + F) of a mixture: masses, and squares by cell
    possible: bool = True

    @property
    def by_cell(self) -> bool:
        return self.weight.ndim > 1

    @property
    def size(self) -> float:
        """The weight of all records, or of the cells of the column that has most."""
        mass = self.more[:, 0].sum() if self.more.size else 0.0
        return float(max(self.weight.sum(axis=0).max(), mass))

    @property
    def rows(self) -> FloatArray:
        """All of it, a row for each cluster."""
        weight = self.weight if self.by_cell else self.weight[:, None]
        parts = [weight, self.total]
        return np.hstack([*parts, self.more] if self.more.size else parts)


def _sums(plan: Plan, request: Request, message: Any) -> list[_Table]:
    """Weights and sums by cluster, as a table; none where a message has none.

    Rival starts have a table each, because each assigns all rows.
    """
    if not plan.algorithm.lossless:
        return []
    if hasattr(message, "by_cell"):
        return _mixture_sums(request.down, message)
    if not (hasattr(message, "weight") and hasattr(message, "total")):
        return []
    for transform in plan.transforms:
        if isinstance(transform, FixedPoint) and message.weight.dtype == np.int64:
            message = message.off_grid(transform.grid)
    weight, total = np.asarray(message.weight, float), np.asarray(message.total, float)
    n = plan.algorithm.n_starts
    return list(map(_Table, np.split(weight, n), np.split(total, n)))


def _mixture_sums(at: Any, message: Any) -> list[_Table]:
    """The sums of a mixture as those of k-means over observed cells, with masses and squares.

    Posteriors sum to one, so sums over all clusters are conserved. On a grid they are not, because
    each is rounded.
    """
    if message.mass.dtype == np.int64:
        return []
    with np.errstate(all="ignore"):  # a liar's numbers may be none
        sums, possible = message.by_cell(at), message.is_possible(at)
    more = np.hstack([message.mass[:, None], sums.square])
    return [_Table(sums.weight, sums.total, more, possible)]
