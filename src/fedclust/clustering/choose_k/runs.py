"""Run several plans over one channel, and add up their costs."""

from dataclasses import dataclass, field
from typing import Any

from ...core import AnyAlgorithm, Channel, ClientSampling, Run, Runner, Schema, derive_seed, run
from ...tiers import Tier

LOOSE = 1e-3  # tolerance of all runs but the first, which only serve the choice


@dataclass
class Runs:
    """Common settings of all plans of a sweep, and the sum of their costs."""

    channel: Channel
    schema: Schema
    tier: Tier
    sampling: ClientSampling
    seed: int
    runner: Runner = run
    sent: dict[str, int] = field(default_factory=dict)  # bytes, by client
    rounds: int = 0
    work: float = 0.0  # sum over rounds of the number of centres that each row is compared with

    def record(self, done: Run, compared: float) -> Any:
        """Add the costs of a run and return its model; `compared` is centres per row and round."""
        self.rounds += done.n_rounds
        self.work += compared * done.n_rounds
        for client, size in done.sent.items():
            self.sent[client] = self.sent.get(client, 0) + size
        return done.model

    def run(
        self,
        algorithm: AnyAlgorithm,
        compared: float,
        *,
        all_clients: bool = False,
        seed: int | None = None,
    ) -> Any:
        """Run a plan and return its model. Comparable scores need all clients."""
        if seed is None:
            seed = derive_seed(self.seed, algorithm.key, algorithm.n_clusters)
        plan = self.tier.plan(algorithm, self.channel, self.schema, seed)
        sampling = self.sampling
        if all_clients:
            sampling = ClientSampling(min_clients=sampling.min_clients)
        done = self.runner(plan, self.channel, self.schema, sampling=sampling)
        return self.record(done, compared)
