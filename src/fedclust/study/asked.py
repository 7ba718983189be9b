"""The algorithm and the tier that a study asks for."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

from ..algorithms import make
from ..core import AnyAlgorithm, ConfigError
from ..privacy import Tier
from ..privacy.lookup import TIERS
from ..protection import with_rounds
from .contents import Study


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


def asked_tier(study: Study, default: str) -> Tier:
    """The tier with all that [privacy] says of it; nothing is taken and ignored."""
    privacy = study.privacy
    kind = TIERS[privacy["tier"] or default]
    known = {field.name for field in fields(kind)}
    names = ("epsilon", "delta", "change", "max_queries")
    wanted = {n: privacy[n] for n in names if privacy[n] is not None}
    for name in wanted:
        if name not in known:
            raise ConfigError(f"{name} has no meaning for tier = {kind.name!r}")
    return with_rounds(kind(**wanted), study.clustering["max_rounds"])
