"""The registries of algorithms, seedings, queries and transforms, and how plans are built.

Classes are imported on first use. Another package adds algorithms by entry points of the
group ``fedclust.algorithms`` and seedings by ``fedclust.seedings``; the name of an entry point is
the key of its class. A transform is added by ``fedclust.transforms``, under the name of its class.
Within one process `register` does the same. A client builds plans from its own registry only, and
refuses everything else.
"""

from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import EntryPoint
from typing import Any, Literal, TypeVar, cast

import numpy as np

from ..core import Algorithm, AnyAlgorithm, ConfigError, Plan, Transform, did_you_mean
from ..core.codec import PlanConfig, one_line
from ..core.registry import Registry
from ..core.traits import limited_parameters

_PACKAGE = __name__.partition(".")[0]
_GROUPS = (f"{_PACKAGE}.algorithms", f"{_PACKAGE}.seedings")
K = TypeVar("K", bound=type[Any])
Use = Literal["algorithm", "seeding", "query"]


def _check_algorithm(name: str, kind: Any) -> None:
    """Reject a class that is not a complete algorithm with that key."""
    if not (isinstance(kind, type) and issubclass(kind, Algorithm)):
        raise ConfigError(f"{kind!r} is not a subclass of fedclust.core.Algorithm")
    if "__dataclass_fields__" not in vars(kind):
        raise ConfigError(f"{kind.__name__} must be a dataclass: @dataclass(frozen=True, eq=False)")
    if name not in (getattr(kind, "key", None), kind.__name__):
        raise ConfigError(f"{kind.__name__} must have the key {name!r}")
    limited_parameters(kind)


def _check_transform(name: str, kind: Any) -> None:
    if not (isinstance(kind, type) and issubclass(kind, Transform)) or kind.__name__ != name:
        raise ConfigError(f"{kind!r} is not a subclass of fedclust.core.Transform called {name!r}")


def _class_name(entry: EntryPoint) -> str:
    return entry.attr.rpartition(".")[2]


def _make_registry(places: Mapping[str, str], *groups: str) -> Registry[AnyAlgorithm]:
    paths = {key: f"{_PACKAGE}.algorithms.{place}" for key, place in places.items()}
    return Registry(paths, *groups, check=_check_algorithm)


def _index_by_class(*places: str) -> dict[str, str]:
    return {place.rpartition(".")[2]: place for place in places}


# Keys of algorithms, with the module and class in this folder.
ALGORITHMS = _make_registry(
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
        "llf-prototypes": "prototypes.Prototypes",
        "llf-mixture": "mixture.Mixture",
    },
    _GROUPS[0],
)
VERTICAL = _make_registry(
    {
        "vertical-llf-cm": "vertical_c_means.VerticalCMeans",
        "vertical-llf-fcm": "vertical_fuzzy_c_means.VerticalFuzzyCMeans",
    }
)
VERTICAL_SEEDINGS = _make_registry(
    {
        "records": "vertical_seeding.RecordSeeding",
        "partition": "vertical_seeding.PartitionSeeding",
        "vertical-k-means++": "vertical_seeding.DistanceSeeding",
    }
)
SEEDINGS = _make_registry(
    {
        "micro-clusters": "micro_clusters.MicroSeeding",
        "robust": "robust_seeding.RobustSeeding",
        "uniform": "seeding.UniformSeeding",
        "client": "seeding.RandomClientSeeding",
        "careful": "seeding.CarefulSeeding",
        "fkm": "seeding.WeightedSeeding",
        "k-fed": "k_fed.KFed",
        "one-shot": "one_shot.OneShotKMeans",
    },
    _GROUPS[1],
)
# Algorithms and seedings that tiers use in place of others.
STAND_INS = _make_registry(
    {"bounded-c-means": "bounded_c_means.BoundedCMeans", "cells": "cell_seeding.CellSeeding"}
)
_KEYED = (ALGORITHMS, SEEDINGS, VERTICAL, VERTICAL_SEEDINGS, STAND_INS)

# All classes that a client can build, by class name: an algorithm and a seeding may share a key.
PLANS: Registry[AnyAlgorithm] = Registry(
    _index_by_class(
        *(place for keyed in _KEYED for place in keyed.places.values()),
        *(
            f"{_PACKAGE}.{place}"
            for place in (
                "algorithms.micro_clusters.MicroClusters",
                "algorithms.micro_clusters.RivalSteps",
                "algorithms.robust_c_means.RobustRivals",
                "algorithms.partial.PartialCMeans",
                "algorithms.partial.PartialFuzzyCMeans",
                "algorithms.partial.PartialRivals",
                "algorithms.prototypes.PartialPrototypes",
                "algorithms.mixture_fit.MixtureFit",
                "algorithms.range_counts.RangeCounts",
                "algorithms.bounded_moments.BoundedMoments",
                "metrics.federated.Evaluation",
                "metrics.contingency.Contingency",
                "metrics.profile.Profile",
                "metrics.profile.PartialProfile",
                "metrics.profile.ClientCells",
                "metrics.profile.ClusterShapes",
                "metrics.profile.ClientCounts",
                "metrics.profile.MapCounts",
                "clustering.choose_k.halves.HalfSeeding",
                "clustering.choose_k.halves.HalvesCMeans",
                "clustering.choose_k.halves.HalvesFuzzyCMeans",
                "clustering.choose_k.halves.HalvesPartialCMeans",
                "clustering.choose_k.halves.HalvesPartialFuzzyCMeans",
                "clustering.summary.queries.MicroQuery",
                "clustering.summary.cells.CellMicroQuery",
                "clustering.preparation.statistics.Moments",
                "clustering.preparation.statistics.Histogram",
                "clustering.preparation.statistics.MedianOfMeans",
                "algorithms.record_alignment.RecordAlignment",
                "algorithms.vertical_assignment.VerticalAssignment",
                "privacy.key_exchange.KeyExchange",
            )
        ),
    ),
    *_GROUPS,
    name_of=_class_name,
    check=_check_algorithm,
)
TRANSFORMS: Registry[Transform] = Registry(
    _index_by_class(
        *(
            f"{_PACKAGE}.privacy.{place}"
            for place in (
                "suppression.MinCount",
                "suppression.MinSamples",
                "grouped_rows.GroupedRows",
                "policy.QueryLimit",
                "fixed_point.FixedPoint",
                "noise.IntegerGaussian",
                "masking.PairwiseMasks",
            )
        )
    ),
    f"{_PACKAGE}.transforms",
    name_of=_class_name,
    check=_check_transform,
)


def register(kind: K, use: Use = "algorithm") -> K:
    """Register an algorithm in this process, for estimators, studies, consent and reports.

    A "seeding" finds start centres. A "query", such as a statistic, can be sent to clients only.
    In a federation every machine needs the class: there, install a package with an entry point.
    """
    if use != "query":
        _keyed_registry(kind, use).add(kind.key, kind)
    PLANS.add(kind.__name__, kind)
    return kind


def unregister(kind: type[Any]) -> None:
    """Remove an algorithm that was registered in this process."""
    for use in ("algorithm", "seeding"):
        registry = _keyed_registry(kind, use)
        if registry.get(kind.key) is kind:
            registry.remove(kind.key)
    PLANS.remove(kind.__name__)


def _keyed_registry(kind: Any, use: str) -> Registry[AnyAlgorithm]:
    rows = getattr(kind, "partition", "horizontal") == "horizontal"
    if use == "seeding":
        return SEEDINGS if rows else VERTICAL_SEEDINGS
    return ALGORITHMS if rows else VERTICAL


def register_transform(kind: K) -> K:
    """Register a transform in this process, so that clients can build plans with it."""
    TRANSFORMS.add(kind.__name__, kind)
    return kind


def unregister_transform(kind: type[Transform]) -> None:
    """Remove a transform that was registered in this process."""
    TRANSFORMS.remove(kind.__name__)


def make(key: str, n_clusters: int, *, preset: str = "default", **settings: Any) -> AnyAlgorithm:
    """The algorithm of that key; preset "reference" reproduces its authors' code.

    Some classes have further `presets`, for other uses that a paper makes of them.
    """
    kind = _find(key, "algorithm", ALGORITHMS, VERTICAL)
    return _configure(kind, n_clusters, preset, settings)


def make_seeding(
    key: str, n_clusters: int, *, preset: str = "default", **settings: Any
) -> AnyAlgorithm:
    """The seeding of that key."""
    kind = _find(key, "init", SEEDINGS, VERTICAL_SEEDINGS)
    return _configure(kind, n_clusters, preset, settings)


def from_config(config: Mapping[str, Any]) -> AnyAlgorithm:
    """Inverse of `fedclust.core.config`: the algorithm from plain values."""
    settings = dict(config)
    key = settings.pop("algorithm")
    kind = _find(key, "algorithm", ALGORITHMS, VERTICAL, SEEDINGS, VERTICAL_SEEDINGS)
    if settings.get("init") is not None:
        records = kind.partition == "vertical"  # numbers of records or clusters, not coordinates
        settings["init"] = np.array(settings["init"], dtype=np.int64 if records else np.float64)
    return _configure(kind, settings.pop("n_clusters"), "default", settings)


def summary(key: str) -> str:
    """The first line of an algorithm's docstring, by key; empty if the key is unknown."""
    for registry in (ALGORITHMS, VERTICAL, STAND_INS):
        if key in registry:
            return (registry[key].__doc__ or "").partition("\n")[0]
    return ""


def clustering_keys(kind: type[Any]) -> set[str]:
    """Keys for which a class clusters rows: its own, its bases', and those it replaces."""
    keys = {vars(base).get("key") for base in kind.__mro__}
    bases = {key for key in keys if key in ALGORITHMS and issubclass(kind, ALGORITHMS[str(key)])}
    return {*map(str, bases), *getattr(kind, "stands_for", ())}


def _find(key: str, parameter: str, *registries: Registry[AnyAlgorithm]) -> type[AnyAlgorithm]:
    for registry in registries:
        if isinstance(key, str) and key in registry:
            return registry[key]
    known = [name for registry in registries for name in registry]
    near = did_you_mean(key, known)
    if not near and parameter == "algorithm" and "mean" in str(key).casefold():
        near = "; k-means is 'llf-cm', fuzzy c-means is 'llf-fcm'"
    raise ConfigError(f"{parameter}={key!r} is not one of {', '.join(known)}{near}")


def _configure(
    kind: type[AnyAlgorithm], n_clusters: int, preset: str, settings: Mapping[str, Any]
) -> AnyAlgorithm:
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for name in settings:
        if name not in known:
            raise ConfigError(f"{kind.key} has no parameter {name!r}; it has {', '.join(known)}")
    if preset == "reference":
        return kind.reference(n_clusters, **settings)
    presets = {"default": {}, **getattr(kind, "presets", {})}
    if preset not in presets:
        names = " or ".join(map(repr, ["default", "reference", *list(presets)[1:]]))
        raise ConfigError(f"preset must be {names}, got {preset!r}")
    return cast(Any, kind)(n_clusters, **{**presets[preset], **settings})  # type: ignore[no-any-return]


def build_plan(config: PlanConfig) -> Plan:
    """The plan that a configuration describes, made of the classes of this installation."""
    if config.name not in PLANS:
        raise ConfigError(
            f"this fedclust has no algorithm {one_line(config.name)!r}"
            f"{did_you_mean(config.name, PLANS)}; install the same version on both sides"
        )
    algorithm = _build(PLANS[config.name], config.settings, config.name)
    transforms = []
    for name, settings in config.transforms:
        if name not in TRANSFORMS:
            raise ConfigError(
                f"this fedclust has no transform {one_line(name)!r}; install the same version on "
                "both sides"
            )
        transforms.append(_build(TRANSFORMS[name], settings, name))
    return Plan(algorithm, tuple(transforms), config.seed)


def _build(kind: Any, settings: Mapping[str, Any], name: str) -> Any:
    plain = {n: tuple(v) if isinstance(v, list) else v for n, v in settings.items()}
    try:
        return kind(**plain)
    except ConfigError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError) as problem:
        raise ConfigError(f"{name}: {one_line(str(problem))}") from None
