"""What a tier makes of an algorithm: fewer rounds, seeds that sum, sums of bounded influence."""

from collections.abc import Iterator
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
    longest, most = algorithm.parameter("max_rounds"), tier.most_rounds(algorithm)
    if most is not None and longest is not None and longest > most:
        return cast(AnyAlgorithm, replace(cast(Any, algorithm), max_rounds=most))
    return algorithm


def refused_limits(
    tier: Tier, algorithm: AnyAlgorithm, max_rounds: int | None, tol: float | None
) -> Iterator[tuple[str, str]]:
    """What was asked for of the end of a run and the tier cannot do: the parameter, and why."""
    if isinstance(tier, Private):
        if tol is not None:
            words = "a run has a fixed number of rounds, each paid for; give max_rounds, not tol"
            yield "tol", f"tol={tol:g}: with privacy={tier.name!r} {words}"
        return
    most = tier.most_rounds(algorithm)
    if max_rounds is not None and most is not None and max_rounds > most:
        words = f"privacy={tier.name!r} ends a run of {algorithm.key!r} after {most} rounds"
        yield "max_rounds", f"max_rounds={max_rounds}: {words}; give {most} or fewer"


def with_rounds(tier: Tier, max_rounds: int | None) -> Tier:
    """The tier for runs of so many rounds, where it must know: it divides a budget among them."""
    if isinstance(tier, Private) and max_rounds is not None:
        return replace(tier, rounds=max_rounds)
    return tier


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
    fuzzifier = float(algorithm.parameter("fuzzifier", 1.0))
    bounded = BoundedCMeans(
        algorithm.n_clusters,
        low,
        high,
        init=algorithm.parameter("init"),
        fuzzifier=fuzzifier,
        rounds=tier.rounds,
    )
    return replace(bounded, noise=tier.noise(bounded, n_clients))
