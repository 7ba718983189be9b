"""The registry: every algorithm and every seeding by its key.

>>> make("llf-fcm", n_clusters=3, fuzzifier=1.5).fuzzifier
1.5
>>> make("dwf", n_clusters=3, preset="reference").learning_rate
0.01
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

import numpy as np

from ..core import AnyAlgorithm, ConfigError, did_you_mean
from ._registry import Registry


def _here(places: Mapping[str, str]) -> Registry[AnyAlgorithm]:
    return Registry({key: f"{__name__}.{place}" for key, place in places.items()})


# An algorithm's key, and the module and class beside this file that it stands for.
ALGORITHMS = _here(
    {
        "llf-cm": "c_means.CMeans",
        "llf-fcm": "fuzzy_c_means.FuzzyCMeans",
        "ffcm-avg1": "averaged_fcm.AveragedFCM",
        "ffcm-avg2": "clustered_fcm.ClusteredFCM",
        "ffcf": "fuzzy_features.FuzzyFeatures",
        "fkm": "matched_k_means.MatchedKMeans",
        "k-fed": "k_fed.KFed",
        "one-shot": "one_shot.OneShotKMeans",
        "dwf": "dynamically_weighted.DynamicallyWeighted",
        "ewf": "equally_weighted.EquallyWeighted",
        "gdf-fcm": "gradient_fcm.GradientFCM",
        "c2f-fcm": "clustering_of_clusterings.ClusteringOfClusterings",
        "robust-cm": "robust_c_means.RobustCMeans",
    }
)

VERTICAL = _here(
    {
        "vertical-llf-cm": "vertical_c_means.VerticalCMeans",
        "vertical-llf-fcm": "vertical_fuzzy_c_means.VerticalFuzzyCMeans",
    }
)

VERTICAL_SEEDINGS = _here(
    {
        "records": "vertical_seeding.RecordSeeding",
        "partition": "vertical_seeding.PartitionSeeding",
        "vertical-k-means++": "vertical_seeding.DistanceSeeding",
    }
)

SEEDINGS = _here(
    {
        "uniform": "seeding.UniformSeeding",
        "client": "seeding.RandomClientSeeding",
        "careful": "seeding.CarefulSeeding",
        "fkm": "seeding.WeightedSeeding",
        "k-fed": "k_fed.KFed",
        "one-shot": "one_shot.OneShotKMeans",
    }
)


def make(key: str, n_clusters: int, *, preset: str = "default", **settings: Any) -> AnyAlgorithm:
    """The algorithm of that key; preset "reference" does what its authors' code did."""
    return _built(_found(key, ALGORITHMS | VERTICAL, "algorithm"), n_clusters, preset, settings)


def make_seeding(
    key: str, n_clusters: int, *, preset: str = "default", **settings: Any
) -> AnyAlgorithm:
    """The seeding of that key."""
    return _built(_found(key, SEEDINGS | VERTICAL_SEEDINGS, "init"), n_clusters, preset, settings)


def from_config(config: Mapping[str, Any]) -> AnyAlgorithm:
    """Inverse of `fedclust.core.config`: the algorithm from plain values."""
    settings = dict(config)
    registry = VERTICAL_SEEDINGS | SEEDINGS | VERTICAL | ALGORITHMS
    kind = _found(settings.pop("algorithm"), registry, "algorithm")
    if settings.get("init") is not None:
        whole = kind.partition == "vertical"  # records or clusters, not coordinates
        settings["init"] = np.array(settings["init"], dtype=np.int64 if whole else np.float64)
    return _built(kind, settings.pop("n_clusters"), "default", settings)


def _found(
    key: str, registry: Mapping[str, type[AnyAlgorithm]], parameter: str
) -> type[AnyAlgorithm]:
    if isinstance(key, str) and key in registry:
        return registry[key]
    raise ConfigError(
        f"{parameter}={key!r} is not one of {', '.join(registry)}{did_you_mean(key, registry)}"
    )


def _built(
    kind: type[AnyAlgorithm], n_clusters: int, preset: str, settings: Mapping[str, Any]
) -> AnyAlgorithm:
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for name in settings:
        if name not in known:
            raise ConfigError(f"{kind.key} has no parameter {name!r}; it has {', '.join(known)}")
    if preset == "reference":
        return kind.reference(n_clusters, **settings)
    if preset != "default":
        raise ConfigError(f"preset must be 'default' or 'reference', got {preset!r}")
    return cast(Any, kind)(n_clusters, **settings)  # type: ignore[no-any-return]


__all__ = [
    "ALGORITHMS",
    "SEEDINGS",
    "VERTICAL",
    "VERTICAL_SEEDINGS",
    "from_config",
    "make",
    "make_seeding",
]
