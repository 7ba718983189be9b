"""A channel over which the server sees sums of clients only.

It wraps any other channel: keys are exchanged in an ordinary round, every plan gets masks at its
end, and a round in which a client failed is asked again. The same query gets the same
masked answer, so asking again reveals nothing. A smaller cohort is another query: clients answer
it only if at least as many leave as a cohort must have (`cohorts.py`).
"""

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..core import Channel, ConfigError, Message, Plan, Request, Schema, TooFewClients, rounds
from ..core.channel import Absent, Wrapper
from .cohorts import remain_without
from .conservation import Conservation
from .crypto import digest
from .key_exchange import KeyExchange
from .keyring import FEWEST
from .masking import PairwiseMasks
from .queries import plan_digest

ATTEMPTS = 8  # with one client in a hundred failing, twenty clients fail so often once in a million


class SecureChannel(Wrapper):
    """The clients of another channel, whose messages only their sum can be read from."""

    def __init__(
        self,
        channel: Channel,
        *,
        min_cohort: int = FEWEST,
        attempts: int = ATTEMPTS,
        steady: bool = False,
    ) -> None:
        super().__init__(channel)
        self._attempts = 1 if self.run_name else attempts  # a followed channel repeats by itself
        self._min_cohort, self._steady = max(FEWEST, min_cohort), steady
        self._conservation = Conservation()
        self._masked: tuple[Plan, Plan] | None = None  # the last plan, without and with masks
        self.masks = self._agreed()
        self._cohorts = [tuple(entry[0] for entry in self.masks.roster)]  # the last one is asked

    @property
    def _cohort(self) -> tuple[str, ...]:
        return self._cohorts[-1]

    def _agreed(self) -> PairwiseMasks:
        connected = sorted(self.channel.clients())
        if len(connected) < self._min_cohort:
            raise TooFewClients(
                f"{len(connected)} clients are connected; secure aggregation needs "
                f"{self._min_cohort}, so that no two can subtract themselves from the sum"
            )
        exchange = KeyExchange(self.run_name or secrets.token_hex(16))
        plan = Plan(exchange)
        (done,) = rounds(plan, _Steady(self.channel, self._attempts), Schema(n_features=1))
        if len(done.cohort) < self._min_cohort:
            raise TooFewClients(
                f"{len(done.cohort)} of {len(connected)} clients offered a key, and "
                f"{self._min_cohort} are needed",
                self.reasons(),
                missing=self._min_cohort - len(done.cohort),
            )
        offers = zip(done.cohort, exchange.model(done.state), strict=True)
        return PairwiseMasks(exchange.run, tuple((client, *offer) for client, offer in offers))

    def clients(self) -> Iterable[str]:
        """Those that exchanged keys and have not been left out since."""
        return self._cohort

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        """Masked replies of the whole cohort, which may have lost members on the way."""
        if set(request.cohort) != set(self._cohort):
            raise ConfigError(
                "secure aggregation asks every client in every round: sums over changing cohorts "
                "would reveal single clients; set sampling to 1, and choose another seeding"
            )
        masked = self._mask_plan(plan)
        while True:
            repeated = replace(request, cohort=tuple(sorted(self._cohort)))
            try:
                replies = dict(_Steady(self.channel, self._attempts).ask(masked, repeated))
                silent = sorted(set(self._cohort) - set(replies))
            except Absent as absent:
                silent = list(absent.clients)
            if not silent:
                break
            self._leave_out(plan, request, silent)
        self._conservation.check(masked, request, replies)
        yield from replies.items()

    def _mask_plan(self, plan: Plan) -> Plan:
        """The plan with masks: one object for all rounds, so that its digest is computed once."""
        if self._masked is None or self._masked[0] is not plan:
            masked = replace(plan, transforms=(*plan.transforms, self.masks))
            self._masked = plan, masked
        return self._masked[1]

    def _leave_out(self, plan: Plan, request: Request, silent: list[str]) -> None:
        salt = digest(self.masks.run.encode(), plan_digest(plan), str(request.round).encode())
        left = remain_without(silent, self._cohorts, self._min_cohort, salt)
        if plan.algorithm.partition == "vertical":
            why = "every distance needs the columns of all owners"
        elif self._steady:
            why = "their share of the noise would be missing"
        elif not left:
            why = "the difference of two totals would be the sum of too few clients"
        else:
            why = ""
        if why:
            others = set(self._cohort) - set(silent)
            them = "it" if len(silent) == 1 else "them"
            raise TooFewClients(
                f"round {request.round}: no usable answer from {', '.join(silent)}"
                + (f", and the others cannot go on without {them}: {why}" if others else ""),
                {client: reason for client, reason in self.reasons().items() if client in silent},
                indispensable=silent,
            )
        self.leave_out(silent)
        self._cohorts.append(left)


class _Steady(Wrapper):
    """A channel that asks clients that did not answer again, a few times."""

    def __init__(self, channel: Channel, attempts: int) -> None:
        super().__init__(channel)
        self._attempts = attempts

    def ask(self, plan: Plan, request: Request) -> Iterable[tuple[str, Message]]:
        replies: dict[str, Message] = {}
        for _ in range(self._attempts):
            silent = tuple(c for c in request.cohort if c not in replies)
            if not silent:
                break
            replies |= dict(self.channel.ask(plan, replace(request, only=silent)))
        return replies.items()
