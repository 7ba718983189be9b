"""The number of clusters of an estimator: given, or chosen from the rows of all clients."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from ..channels import LocalChannel
from ..clustering.auto import K_RANGE, choose_clusters, choose_noisy, limit_rounds, start_of
from ..clustering.choose_k import Choice
from ..clustering.rows import Clustering, Init, cluster
from ..core import AnyAlgorithm, ClientSampling, ConfigError, Data, Runner, Schema, checks
from ..tiers import Tier

AUTO = "auto"
_ROWS_PER_CLUSTER = 5  # on average, at least


def is_auto(n_clusters: Any) -> bool:
    """Whether the number of clusters is chosen."""
    return isinstance(n_clusters, str) and n_clusters == AUTO


def given_clusters(estimator: Any) -> int:
    """The number of clusters, or any number if it is chosen later."""
    if not is_auto(estimator.n_clusters):
        return int(estimator.n_clusters)
    earlier = getattr(estimator, "cluster_centers_", None)  # from which a warm start continues
    return len(earlier) if estimator.warm_start and earlier is not None else K_RANGE[0]


def check_clusters(estimator: Any) -> int:
    """The fewest clusters that a fit can have; refuses what is no number of clusters."""
    if is_auto(estimator.n_clusters):
        return K_RANGE[0]
    if isinstance(estimator.n_clusters, str):
        raise ConfigError(f"n_clusters must be an integer or 'auto', got {estimator.n_clusters!r}")
    checks.integer(estimator, "n_clusters")
    return int(estimator.n_clusters)


def cluster_given(
    algorithm: AnyAlgorithm, rows: Mapping[str, Data], schema: Schema, **common: Any
) -> tuple[Clustering, Choice | None]:
    """Cluster with the given number of clusters."""
    return cluster(algorithm, LocalChannel(rows), schema, **common), None


def cluster_auto(
    algorithm: AnyAlgorithm,
    rows: Mapping[str, Data],
    schema: Schema,
    *,
    init: Init,
    n_init: int,
    privacy: Tier,
    sampling: ClientSampling,
    seed: int,
    runner: Runner,
) -> tuple[Clustering, Choice | None]:
    """Choose the number of clusters, and cluster."""
    n_rows = sum(map(len, rows.values()))
    low, high = K_RANGE
    ks = range(low, max(low, min(high, n_rows // _ROWS_PER_CLUSTER)) + 1)
    clients = privacy.channel(LocalChannel(rows))
    if not isinstance(init, str):
        raise ConfigError("n_clusters='auto' finds its own initial centres; leave init='auto'")
    if privacy.noisy:
        top = _with_clusters(algorithm, high)
        shared: dict[str, Any] = {"sampling": sampling, "seed": seed, "runner": runner}
        return choose_noisy(top, clients, schema, ks, tier=privacy, **shared)
    common: dict[str, Any] = {
        "privacy": privacy,
        "sampling": sampling,
        "seed": seed,
        "runner": runner,
    }
    choice = choose_clusters(_with_clusters(algorithm, high), clients, schema, ks, **common)
    found = _with_clusters(algorithm, choice.recommended)
    start = start_of(choice, found, init)
    limited = limit_rounds(choice, found, privacy)
    return cluster(limited, clients, schema, init=start, n_init=n_init, **common), choice


def _with_clusters(algorithm: AnyAlgorithm, n_clusters: int) -> AnyAlgorithm:
    return cast(AnyAlgorithm, replace(cast(Any, algorithm), n_clusters=n_clusters))
