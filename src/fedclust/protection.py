"""What a tier makes of an algorithm: fewer rounds, seeds that sum, sums of bounded influence."""

from dataclasses import replace
from typing import Any, cast

from .algorithms.bounded_c_means import BoundedCMeans
from .algorithms.cell_seeding import CellSeeding
from .core import AnyAlgorithm, Schema
from .privacy import Private, Tier


def adapted(algorithm: AnyAlgorithm, schema: Schema, tier: Tier, n_clients: int) -> AnyAlgorithm:
    """The algorithm as it runs under the tier, or a refusal that names another."""
    tier.check(algorithm)
    if isinstance(tier, Private):
        return _bounded(algorithm, schema, tier, n_clients)
    longest, most = vars(algorithm).get("max_rounds"), tier.most_rounds(algorithm)
    if most is not None and longest is not None and longest > most:
        return cast(AnyAlgorithm, replace(cast(Any, algorithm), max_rounds=most))
    return algorithm


def seeding_under(
    tier: Tier, algorithm: AnyAlgorithm, schema: Schema, n_clients: int
) -> AnyAlgorithm | None:
    """The start that suits the tier; None: the algorithm's own."""
    if not tier.sums_only:
        return None
    low, high = schema.box()
    seeding = CellSeeding(algorithm.n_clusters, low, high)
    if isinstance(tier, Private):
        seeding = replace(seeding, noise=tier.noise(seeding, n_clients))
    return seeding


def _bounded(
    algorithm: AnyAlgorithm, schema: Schema, tier: Private, n_clients: int
) -> AnyAlgorithm:
    if isinstance(algorithm, BoundedCMeans):
        return algorithm
    low, high = schema.box()
    fuzzifier = float(getattr(algorithm, "fuzzifier", 1.0))
    bounded = BoundedCMeans(
        algorithm.n_clusters,
        low,
        high,
        init=vars(algorithm)["init"],
        fuzzifier=fuzzifier,
        rounds=tier.rounds,
    )
    return replace(bounded, noise=tier.noise(bounded, n_clients))
