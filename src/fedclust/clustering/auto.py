"""Choose the number of clusters where it is "auto": by the summary, or by a sweep over all rows.

A sweep queries all rows for every k. Where a tier limits queries, the summary answers instead, and
the clustering starts at centres that were found in it.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from ..core import ALL_CLIENTS, AnyAlgorithm, Channel, ClientSampling, Runner, Schema, run
from ..tiers import Privacy, Tier, tier_of
from .choose_k import Choice, choose
from .rows import AUTO, BESIDE, SUMMARY, Clustering, Init, leave_room
from .summary import SummaryRun, choose_from, count_micro, count_queries, find_centers
from .summary.noisy import learn_noisy

K_RANGE = (2, 15)  # tried by default
FEWEST_ROUNDS = 5  # of the clustering, for which a limit of queries must leave room


def needs_summary(tier: Tier) -> bool:
    """Whether the number of clusters is chosen by the summary."""
    return tier.limits_queries


def choose_clusters(
    algorithm: AnyAlgorithm,
    channel: Channel,
    schema: Schema,
    ks: Iterable[int] = range(K_RANGE[0], K_RANGE[1] + 1),
    *,
    init: Init = "auto",
    privacy: Privacy = "none",
    sampling: ClientSampling = ALL_CLIENTS,
    seed: int = 0,
    runner: Runner = run,
) -> Choice:
    """The recommended number of clusters, with its evidence."""
    tier, tried = tier_of(privacy), sorted(set(ks))
    if not needs_summary(tier):
        return choose(
            algorithm,
            channel,
            schema,
            tried,
            init=init,
            privacy=tier,
            sampling=sampling,
            seed=seed,
            runner=runner,
        )
    channel = tier.channel(channel)
    summary = SummaryRun(channel, schema, tier, runner).learn(count_micro(max(tried, default=1)))
    return choose_from(summary, tried)


def choose_noisy(
    algorithm: AnyAlgorithm,
    channel: Channel,
    schema: Schema,
    ks: Iterable[int],
    *,
    tier: Tier,
    sampling: ClientSampling = ALL_CLIENTS,
    seed: int = 0,
    runner: Runner = run,
) -> tuple[Clustering, Choice]:
    """Choose and cluster under a tier that adds noise, which one summary pays for."""
    paid = tier.for_summary()
    found = learn_noisy(paid.channel(channel), schema, paid, runner, sampling=sampling, seed=seed)
    choice = choose_from(found.summary, ks)
    chosen = replace(cast(Any, algorithm), n_clusters=choice.recommended)
    return found.cluster(chosen), choice


def start_of(choice: Choice, algorithm: AnyAlgorithm, init: Init) -> Init:
    """The initial centres that a choice gives to the clustering, if it may choose them."""
    chosen = isinstance(init, str) and init in (*AUTO, SUMMARY) and algorithm.has_parameter("init")
    if choice.summary is None or not chosen:
        return init
    fuzzifier = algorithm.parameter("fuzzifier") if algorithm.soft else None
    return find_centers(choice.summary, choice.recommended, fuzzifier)


def limit_rounds(
    choice: Choice, algorithm: AnyAlgorithm, tier: Tier, more: int = 0
) -> AnyAlgorithm:
    """The algorithm with as many rounds as the limit of queries leaves after a summary.

    `more` queries are asked beside those of every study.
    """
    if choice.summary is None:
        return algorithm
    return leave_room(algorithm, tier, choice.summary.queries + more)


def refuse_few_queries(tier: Tier, most_clusters: int, more: int = 0) -> str:
    """Why a limit of queries is too low for a summary and a clustering; empty if it is not."""
    if not needs_summary(tier) or tier.query_limit is None:
        return ""
    needed = count_queries(count_micro(most_clusters)) + FEWEST_ROUNDS + BESIDE + more
    if tier.query_limit >= needed:
        return ""
    return (
        f"the summary, the clustering and the description of its clusters take {needed} queries or "
        f"more, and max_queries is {tier.query_limit}; raise it, or do without a summary"
    )
