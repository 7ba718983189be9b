"""Whether a study keeps to the rules of client.toml; checked before any row is read.

Every request of the study is checked again when it comes. Here the owner and the coordinator learn
at once which rule the study would break.
"""

from collections.abc import Iterator, Sequence

from ..algorithms import make_seeding
from ..client.config import ClientConfig
from ..client.consent import (
    ConsentRefusal,
    allow_caller,
    allow_columns,
    allow_key,
    allow_plan,
    allow_split_columns,
    allow_vertical,
    describe_columns,
    required_tier,
)
from ..clustering.preparation import scale_by_bounds, widen
from ..clustering.rows import OTHER_STARTS, SUMMARY
from ..clustering.summary import count_micro
from ..core import AnyAlgorithm, Code, ConfigError, Plan, Refusal, Schema, Transform
from ..privacy import ClientPolicy
from ..privacy.masking import PairwiseMasks
from ..study.conflicts import count_requests
from ..study.read import resolve_tier
from ..study.settings import Study, make_algorithm, make_columns_algorithm
from ..tiers import Tier
from ..tiers.dp import Private
from .approval import DEFAULT_TIER, Following, following_of

_FREE = "uniform"  # a start that asks no client


def allow_study(
    config: ClientConfig, policy: ClientPolicy, study: Study, *, begun: bool = False
) -> None:
    """Refuse a study that breaks a rule of client.toml, and name the rule.

    A run that has `begun` has spent privacy budget already.
    """
    tier = find_tier(study)
    algorithm = make_algorithm(study.clustering, study.n_clusters[1])
    allow_key(config, algorithm.key)
    if following_of(study, tier) is Following.SCRIPT:
        _allow_over_columns(config, study, tier)
        return
    allow_columns(config, [column.name for column in study.features or ()])
    for plan, schema in _plans(study, tier, algorithm):
        allow_plan(config, plan, schema.n_features)
    _allow_summary(config, study, tier)
    _allow_requests(config, study, tier)
    _allow_descriptions(config, policy, study)
    _allow_budget(config, policy, study, tier, begun=begun)


def allow_mailed_study(config: ClientConfig, study: Study) -> None:
    """Refuse a study ahead of time, if the client would refuse it from any author."""
    author = config.consent.authors[0] if config.consent.authors else ""
    allow_caller(config, study.path.stem, author)
    allow_study(config, config.policy(), study)


def find_tier(study: Study) -> Tier:
    """The tier of a study that can be followed; a refusal if it cannot."""
    try:
        tier = resolve_tier(study, DEFAULT_TIER)
    except ConfigError as problem:
        words = str(problem).replace(str(study.path), study.path.name)
        raise Refusal(f"the study file cannot be used: {words}", code=Code.STUDY) from None
    if following_of(study, tier) is Following.NONE:
        raise Refusal(
            f"clients cannot follow a study with tier {tier.name!r} and algorithm "
            f"{study.clustering.algorithm!r}, because single clients' messages would be relayed",
            code=Code.STUDY,
        )
    return tier


def _plans(study: Study, tier: Tier, algorithm: AnyAlgorithm) -> Iterator[tuple[Plan, Schema]]:
    """The plans of a study over split rows, as far as they are known before its first request."""
    schema = scale_by_bounds(widen(study.features or ())).schema()
    n_clients = max(len(study.clients), study.sampling.min_clients, tier.fewest_clients)
    adapted = tier.adapt(algorithm, schema, n_clients)
    masks: Sequence[Transform] = (PairwiseMasks("", ()),) if tier.masks else ()
    for part in filter(None, (adapted, _find_seeding(study, tier, adapted, schema, n_clients))):
        yield Plan(part, (*tier.transforms(part, schema, n_clients), *masks)), schema


def _find_seeding(
    study: Study, tier: Tier, algorithm: AnyAlgorithm, schema: Schema, n_clients: int
) -> AnyAlgorithm | None:
    init = study.clustering.init
    if init in (_FREE, SUMMARY):  # a summary has rules of its own
        return None
    if init in OTHER_STARTS:
        return tier.seeding(algorithm, schema, n_clients)
    return make_seeding(init, algorithm.n_clusters)


def _allow_over_columns(config: ClientConfig, study: Study, tier: Tier) -> None:
    """Which of the study's columns are this client's is known only when its files are read."""
    allow_split_columns(config)
    algorithm = make_columns_algorithm(study.clustering)
    allow_vertical(config, algorithm, answered=0)
    schema = Schema(1)
    masks = (PairwiseMasks("", ()),) if tier.masks else ()
    if lacking := required_tier(config).missing_protection(Plan(algorithm, masks), schema):
        raise ConsentRefusal(_explain_tier(config, tier, lacking))
    most = config.consent.max_rounds
    rounds = study.clustering.n_init * int(algorithm.max_rounds)
    if rounds > most:
        raise ConsentRefusal(_explain_rounds(rounds, most))


def _allow_summary(config: ClientConfig, study: Study, tier: Tier) -> None:
    """Refuse a study whose summary has more small groups of rows than clusters are allowed."""
    settings = study.clustering
    if tier.noisy or (settings.n_clusters != "auto" and settings.init != SUMMARY):
        return
    why, instead = f'init = "{SUMMARY}"', "choose another init"
    if settings.n_clusters == "auto":
        why, instead = 'n_clusters = "auto"', "give a number of clusters in the study"
    n, most = count_micro(study.n_clusters[1]), config.consent.max_clusters
    if n > most:
        raise ConsentRefusal(
            f"{why} takes a summary of up to {n} small groups of rows, and client.toml allows "
            f"max_clusters = {most}; {instead}"
        )


def _allow_requests(config: ClientConfig, study: Study, tier: Tier) -> None:
    """Refuse a study that could go beyond the limits on rounds and queries."""
    consent, requests = config.consent, count_requests(study, tier)
    if requests > consent.max_rounds:
        raise ConsentRefusal(_explain_rounds(requests, consent.max_rounds))
    queries = requests if tier.query_limit is None else min(requests, tier.query_limit)
    if queries > consent.max_queries:
        raise ConsentRefusal(
            f"the study can ask {queries} queries, but client.toml allows max_queries = "
            f"{consent.max_queries}; set [privacy] max_queries of the study to no more than that, "
            "or its owner sets max_queries in client.toml"
        )


def _allow_descriptions(config: ClientConfig, policy: ClientPolicy, study: Study) -> None:
    """Refuse bounds or categories beyond the number of different ones that a column may have."""
    most = config.consent.max_descriptions
    for column, words in describe_columns(study.features or ()):
        if not policy.ledger.can_describe(column, words, most=most):
            raise Refusal(
                f"client.toml allows max_descriptions = {most} different bounds or categories of "
                f"a column, and {column!r} has had as many",
                code=Code.LIMIT,
            )


def _allow_budget(
    config: ClientConfig, policy: ClientPolicy, study: Study, tier: Tier, *, begun: bool
) -> None:
    """Refuse a study whose noise costs more than what is left of epsilon."""
    budget = policy.limits.budget
    if not isinstance(tier, Private) or budget is None:
        return
    cost = tier.cost(seeded=study.clustering.init != _FREE)
    left = budget if begun else budget - policy.ledger.spent
    if cost > left + 1e-9 * budget:
        raise Refusal(
            f"the study spends epsilon = {tier.epsilon:g}, but client.toml allows epsilon = "
            f"{config.consent.epsilon:g} over all studies, of which {policy.epsilon:.3g} is spent",
            code=Code.LIMIT,
        )


def _explain_rounds(rounds: int, most: int) -> str:
    return (
        f"the study can take {rounds} rounds, but client.toml allows max_rounds = {most}; set a "
        "smaller [clustering] max_rounds or n_init in the study"
    )


def _explain_tier(config: ClientConfig, tier: Tier, lacking: str) -> str:
    return (
        f"tier {tier.name!r} of the study lacks {lacking}, required by privacy = "
        f'"{config.consent.privacy}" in client.toml; set [privacy] tier in the study, or its owner '
        "sets this one line of client.toml to the tier of the study"
    )
