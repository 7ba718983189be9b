"""Client-side policy: keys, query ledger, and the rules by which queries are rejected.

Algorithms need no memory at the client; protection does. The policy holds the client's keys, the
ledger of its answered queries, and the groups of its rows. It belongs to the client
(`Data.policy`), is never sent, and no plan can loosen its limits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..core import Batches, ConfigError, Data, Refusal, RoundContext, Stage, Transform, checks
from ..typing import IntArray
from .accounting import epsilon_of, mu_for
from .draws import Draws
from .keyring import FEWEST, Keyring
from .ledger import Ledger
from .queries import broadcast_digest, query_digest

if TYPE_CHECKING:
    from .grouped_rows import GroupMemory

Bounds = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Limits:
    """Limits that a client enforces, whatever the plan says."""

    min_samples: int = 1  # with fewer records it does not answer at all
    min_cohort: int = FEWEST  # under masks
    max_rounds: int = 300  # of one plan
    max_queries: int | None = None  # of the data set, over all plans, runs and restarts
    bounds: Bounds | None = None  # centres outside are refused
    requires: tuple[str, ...] = ()  # transforms that every plan must have, by name
    epsilon: float | None = None  # of the data set, for good
    delta: float = 1e-6

    def __post_init__(self) -> None:
        for name in ("min_samples", "min_cohort", "max_rounds"):
            checks.integer(self, name)
        if self.max_queries is not None:
            checks.integer(self, "max_queries")

    @property
    def budget(self) -> float | None:
        """The sum of squares of mu that epsilon and delta allow."""
        return None if self.epsilon is None else mu_for(self.epsilon, self.delta) ** 2


_NO_LIMITS = Limits()


class ClientPolicy:
    """A client's keys, ledger and limits.

    ``identity`` is an Ed25519 secret that lasts; ``peers`` are the public identities of the others,
    known from enrolment, not from the server; without them the server is trusted. With limits or
    a ledger, and under masks, every query is checked before it is answered. ``keys`` is a file that
    remembers keys of running runs, where every message is answered by a new process.
    """

    def __init__(
        self,
        identity: bytes | None = None,
        *,
        peers: Mapping[str, bytes] | None = None,
        limits: Limits | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.peers = dict(peers) if peers is not None else None
        self.limits = limits or _NO_LIMITS
        self._identity, self._given = identity, ledger
        self._watchful = limits is not None or ledger is not None
        self._draws = Draws()

    @cached_property  # thousands of simulated clients have a gate, and few of them use it
    def keys(self) -> Keyring:
        """The client's keys."""
        return Keyring(
            self._identity,
            min_cohort=self.limits.min_cohort,
            max_rounds=self.limits.max_rounds,
        )

    @cached_property
    def ledger(self) -> Ledger:
        """What the data set has released."""
        return self._given or Ledger()

    @cached_property
    def groups(self) -> "GroupMemory":
        """Which rows are averaged together."""
        from .grouped_rows import GroupMemory  # which imports this module

        return GroupMemory(self.ledger)

    def admit(self, context: RoundContext) -> None:
        """Reject what this client never answers and count the rest, before anything is computed.

        Everything is entered in the ledger in one transaction. The same query again is free.
        """
        plan = context.plan
        query_limits = [t.max_queries for t in plan.transforms if isinstance(t, QueryLimit)]
        stages = {t.stage for t in plan.transforms}
        masked = Stage.MASK in stages
        counted = self._watchful or query_limits or masked
        if not counted or not plan.algorithm.traits.reads_rows:
            return
        what = f"{plan.algorithm.key}, round {context.round}"
        if self._watchful:
            self._check_limits(context, what)
        if self.limits.max_queries is not None:
            query_limits.append(self.limits.max_queries)
        if masked:
            for transform in plan.transforms:
                transform.check_cohort(context)
        with self.ledger.transaction() as entries:
            if masked:
                entries.join(
                    context.cohort,
                    broadcast_digest(context),
                    what=what,
                    least=max(FEWEST, self.limits.min_cohort),
                    steady=Stage.NOISE in stages,
                )
            most = min(query_limits, default=None)
            entries.record_query(query_digest(context), what=what, most=most)

    def _check_limits(self, context: RoundContext, what: str) -> None:
        limits = self.limits
        missing = set(limits.requires) - {type(t).__name__ for t in context.plan.transforms}
        if missing:
            raise Refusal(f"{what}: this client requires {', '.join(sorted(missing))}")
        if context.samples < limits.min_samples:
            raise Refusal(f"{what}: this client has too few records to answer")
        if context.round >= limits.max_rounds:
            raise Refusal(f"{what}: this client answers {limits.max_rounds} rounds")
        self._check_bounds(context, what)

    def keep_draws(self, draws: Draws) -> None:
        """Draw noise from these from now on, and not only from memory."""
        self._draws = draws

    def noise(
        self, question: bytes, cost: float, what: str, draw: Callable[[], IntArray]
    ) -> IntArray:
        """The noise for a question, drawn once and paid for; a refusal if the budget is spent.

        The question stands for the query and for the numbers that are noised: other numbers under
        the same noise would give their difference.
        """
        found = self._draws.find(question, draw)
        self.ledger.spend(cost, what=what, budget=self.limits.budget, draw=found.id)
        return found.noise

    @property
    def epsilon(self) -> float:
        """What all noised releases so far amount to, at the delta of the rules."""
        spent = self.ledger.spent
        return epsilon_of(spent**0.5, self.limits.delta) if spent else 0.0

    def _check_bounds(self, context: RoundContext, what: str) -> None:
        centers = getattr(context.down, "centers", None)
        if centers is None or self.limits.bounds is None:
            return
        low, high = map(np.asarray, self.limits.bounds)
        if not ((centers >= low) & (centers <= high)).all():
            raise Refusal(f"{what}: centres outside the public bounds ask about single records")


@dataclass(frozen=True)
class QueryLimit(Transform):
    """Count every question in the client's ledger, and refuse those beyond the limit.

    A gate with rules of its own has a limit, too, and the lower one holds.
    """

    max_queries: int = 50

    stage: ClassVar[Stage] = Stage.SUPPRESS

    def __post_init__(self) -> None:
        checks.integer(self, "max_queries")

    def covers(self, wanted: Transform) -> bool:
        return isinstance(wanted, QueryLimit) and self.max_queries <= wanted.max_queries

    def at_rows(self, data: Data, context: RoundContext) -> Data:
        policy_of(context.data)  # which has counted the query when it admitted the round
        return data


def policy_of(data: Data | Batches | None) -> ClientPolicy:
    """The client's gate, without which it has no keys and no memory."""
    if data is None or not isinstance(data.policy, ClientPolicy):
        raise ConfigError(
            "this client has no gate to keep its keys and releases: give Data a gate "
            "(fedclust.privacy.ClientPolicy)"
        )
    return data.policy
