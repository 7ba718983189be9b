"""The algorithm and the tier that a study asks for, and what in a study contradicts itself."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, cast

from ..algorithms import make
from ..core import AnyAlgorithm, ConfigError
from ..preprocessing import Column
from ..privacy import Tier
from ..privacy.rules import TIERS
from .keys import RECORD_STARTS


def asked_algorithm(asked: Mapping[str, Any], n_clusters: int) -> AnyAlgorithm:
    """The algorithm with all that [clustering] says of it; nothing is taken and ignored."""
    key = asked["algorithm"]
    if key == "lossless":
        key = "llf-fcm" if asked["fuzzy"] else "llf-cm"
    chosen = make(key, n_clusters)
    if asked["fuzzy"] and not chosen.soft:
        raise ConfigError(f"fuzzy = true, but {key} finds labels, not memberships")
    if asked["fuzzy"] is False and chosen.soft:
        raise ConfigError(f"fuzzy = false, but {key} finds memberships")
    names = ("max_rounds", "tol", "fuzzifier")
    changes = {name: asked[name] for name in names if asked[name] is not None}
    for name in changes:
        if name not in vars(chosen):
            raise ConfigError(f"{name} has no meaning for {key}")
    return cast(AnyAlgorithm, replace(cast(Any, chosen), **changes))


def asked_tier(privacy: Mapping[str, Any], default: str) -> Tier:
    """The tier with all that [privacy] says of it; nothing is taken and ignored."""
    kind = TIERS[privacy["tier"] or default]
    known = {field.name for field in fields(kind)}
    names = ("epsilon", "delta", "change", "max_releases")
    wanted = {n: privacy[n] for n in names if privacy[n] is not None}
    for name in wanted:
        if name not in known:
            raise ConfigError(f"{name} has no meaning for tier = {kind.name!r}")
    return kind(**wanted)


def unprotected(
    tier: Tier,
    clustering: Mapping[str, Any],
    data: Mapping[str, Any],
    features: tuple[Column, ...] | None,
) -> Iterator[tuple[tuple[str, str], str]]:
    """What the tier cannot protect: the key to mend, and what to do."""
    name = f"tier = {tier.name!r}"
    if clustering["n_clusters"] == "auto" and tier.sparing:
        words = f"{name} answers too few questions for a sweep: give n_clusters a number"
        yield ("clustering", "n_clusters"), words
    if clustering["n_init"] > 1 and tier.noisy:
        yield ("clustering", "n_init"), f"{name} pays for every start: n_init must be 1"
    try:
        tier.check(asked_algorithm(clustering, 2))
    except ConfigError as problem:
        yield ("clustering", "algorithm"), str(problem)
    if not tier.sums_only:
        return
    if not features or any(not c.categories and c.low is None for c in features):
        words = f"{name} needs public bounds: give every feature low and high under [features]"
        yield ("privacy", "tier"), words
    if data["scaling"] not in (None, "min-max"):
        yield ("data", "scaling"), f'{name} scales by public bounds only: scaling = "min-max"'
    if data["missing"] != "drop":
        yield ("data", "missing"), f'{name} knows no means to fill gaps with: missing = "drop"'


def contradictions(
    clustering: Mapping[str, Any],
    participation: Mapping[str, Any],
    features: tuple[Column, ...] | None,
    n_clients: int,
) -> Iterator[tuple[tuple[str, str], str]]:
    """Settings that cannot be met together: the key to mend, and what to do."""
    try:
        asked_algorithm(clustering, 2)
    except ConfigError as problem:
        yield ("clustering", "algorithm"), str(problem)
    if clustering["k_range"] is not None and clustering["n_clusters"] != "auto":
        yield ("clustering", "k_range"), 'k_range has no meaning unless n_clusters = "auto"'
    if n_clients and participation["min_clients"] > n_clients:
        words = f"min_clients = {participation['min_clients']}, but there are {n_clients} clients"
        yield ("participation", "min_clients"), words
    if clustering["init"] in RECORD_STARTS:
        words = f'init = "{clustering["init"]}" is a start over split columns; choose another'
        yield ("clustering", "init"), words
    bounded = features and all(c.categories or c.low is not None for c in features)
    if clustering["init"] == "uniform" and not bounded:
        words = (
            'init = "uniform" draws within public bounds: give every feature low and high under '
            "[features], or another init"
        )
        yield ("clustering", "init"), words
