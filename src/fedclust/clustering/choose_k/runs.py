"""Plans run one after the other over one channel, and what they cost together."""

from dataclasses import dataclass, field
from typing import Any

from ...core import AnyAlgorithm, Channel, ClientSampling, Run, Runner, Schema, derived, run
from ...tiers import Tier

LOOSE = 1e-3  # tolerance of all runs but the first: they only serve to choose


@dataclass
class Runs:
    """What all plans of a sweep share, and the sum of their costs."""

    channel: Channel
    schema: Schema
    tier: Tier
    sampling: ClientSampling
    seed: int
    runner: Runner = run
    sent: dict[str, int] = field(default_factory=dict)  # bytes, by client
    rounds: int = 0
    work: float = 0.0  # sum over rounds of the centres that a row was compared with

    def note(self, done: Run, compared: float) -> Any:
        """The model of a run; each of its rounds compared a row with so many centres."""
        self.rounds += done.n_rounds
        self.work += compared * done.n_rounds
        for client, size in done.sent.items():
            self.sent[client] = self.sent.get(client, 0) + size
        return done.model

    def of(
        self,
        algorithm: AnyAlgorithm,
        compared: float,
        *,
        everybody: bool = False,
        seed: int | None = None,
    ) -> Any:
        """The model of a plan. Scores are compared with each other, so they ask everybody."""
        if seed is None:
            seed = derived(self.seed, algorithm.key, algorithm.n_clusters)
        plan = self.tier.plan(algorithm, self.channel, self.schema, seed)
        who = self.sampling
        who = ClientSampling(min_clients=who.min_clients) if everybody else who
        return self.note(self.runner(plan, self.channel, self.schema, sampling=who), compared)
