"""The number of clusters of an estimator: given, or chosen from the rows of all clients."""

from dataclasses import replace
from typing import Any, cast

from ..channels import LocalChannel
from ..clustering.auto import K_RANGE, choose_clusters, limit_rounds, start_of
from ..clustering.choose_k import Choice
from ..clustering.rows import Clustering, Init, cluster
from ..core import AnyAlgorithm, ClientSampling, ConfigError, Schema, checks
from ..tiers import Tier

AUTO = "auto"
_ROWS_PER_CLUSTER = 5  # on average, at least


def is_auto(n_clusters: Any) -> bool:
    """Whether the number of clusters is chosen."""
    return isinstance(n_clusters, str) and n_clusters == AUTO


def check_clusters(estimator: Any) -> int:
    """The fewest clusters that a fit can have; refuses what is no number of clusters."""
    if is_auto(estimator.n_clusters):
        return K_RANGE[0]
    if isinstance(estimator.n_clusters, str):
        raise ConfigError(f"n_clusters must be an integer or 'auto', got {estimator.n_clusters!r}")
    checks.integer(estimator, "n_clusters")
    return int(estimator.n_clusters)


def cluster_auto(
    algorithm: AnyAlgorithm,
    channel: LocalChannel,
    schema: Schema,
    *,
    init: Init,
    n_init: int,
    tier: Tier,
    sampling: ClientSampling,
    seed: int,
    n_rows: int,
) -> tuple[Clustering, Choice]:
    """Choose the number of clusters, and cluster."""
    low, high = K_RANGE
    ks = range(low, max(low, min(high, n_rows // _ROWS_PER_CLUSTER)) + 1)
    clients = tier.channel(channel)
    if not isinstance(init, str):
        raise ConfigError("n_clusters='auto' finds its own initial centres; leave init='auto'")
    common: dict[str, Any] = {"privacy": tier, "sampling": sampling, "seed": seed}
    choice = choose_clusters(_with_clusters(algorithm, high), clients, schema, ks, **common)
    found = _with_clusters(algorithm, choice.recommended)
    start = start_of(choice, found, init)
    limited = limit_rounds(choice, found, tier)
    return cluster(limited, clients, schema, init=start, n_init=n_init, **common), choice


def _with_clusters(algorithm: AnyAlgorithm, n_clusters: int) -> AnyAlgorithm:
    return cast(AnyAlgorithm, replace(cast(Any, algorithm), n_clusters=n_clusters))
