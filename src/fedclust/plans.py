"""The one registry of plans: what a client that is asked from elsewhere can build, and no more."""

from collections.abc import Mapping
from typing import Any

from .algorithms import ALGORITHMS, SEEDINGS, VERTICAL, VERTICAL_SEEDINGS
from .algorithms._registry import Registry, by_class
from .core import AnyAlgorithm, ConfigError, Plan, Transform, did_you_mean
from .core.envelope import PlanConfig, one_line
from .privacy import (
    ChangeGuard,
    FixedPoint,
    IntegerGaussian,
    MinCount,
    MinSamples,
    PairwiseMasks,
    QueryLimit,
)

_KEYED = (ALGORITHMS, SEEDINGS, VERTICAL, VERTICAL_SEEDINGS)
PLANS: Registry[AnyAlgorithm] = Registry(
    by_class(
        *(place for keyed in _KEYED for place in keyed.places.values()),
        *(
            f"{__package__}.{place}"
            for place in (
                "metrics.federated.Evaluation",
                "metrics.contingency.Contingency",
                "metrics.profile.Profile",
                "metrics.profile.ClusterShapes",
                "metrics.profile.ClientCounts",
                "clustering.choose_k.halves.HalfSeeding",
                "clustering.choose_k.halves.HalvesCMeans",
                "clustering.choose_k.halves.HalvesFuzzyCMeans",
                "clustering.preparation.statistics.Moments",
                "clustering.preparation.statistics.Histogram",
                "clustering.preparation.statistics.MedianOfMeans",
                "algorithms.record_alignment.RecordAlignment",
                "algorithms.vertical_assignment.VerticalAssignment",
                "privacy.key_exchange.KeyExchange",
                "algorithms.cell_seeding.CellSeeding",
                "algorithms.bounded_c_means.BoundedCMeans",
            )
        ),
    )
)
_TRANSFORMS: tuple[type[Transform], ...] = (
    MinCount,
    MinSamples,
    ChangeGuard,
    QueryLimit,
    FixedPoint,
    IntegerGaussian,
    PairwiseMasks,
)
TRANSFORMS: Mapping[str, type[Transform]] = {kind.__name__: kind for kind in _TRANSFORMS}


def build_plan(config: PlanConfig) -> Plan:
    """The plan that a configuration describes, made of the classes of this installation."""
    if config.name not in PLANS:
        raise ConfigError(
            f"this fedclust has no algorithm {one_line(config.name)!r}"
            f"{did_you_mean(config.name, PLANS)}; install the same version on both sides"
        )
    algorithm = _made(PLANS[config.name], config.settings, config.name)
    transforms = []
    for name, settings in config.transforms:
        if name not in TRANSFORMS:
            raise ConfigError(
                f"this fedclust has no transform {one_line(name)!r}; install the same version on "
                "both sides"
            )
        transforms.append(_made(TRANSFORMS[name], settings, name))
    return Plan(algorithm, tuple(transforms), config.seed)


def _made(kind: Any, settings: Mapping[str, Any], name: str) -> Any:
    plain = {n: tuple(v) if isinstance(v, list) else v for n, v in settings.items()}
    try:
        return kind(**plain)
    except ConfigError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError) as problem:
        raise ConfigError(f"{name}: {one_line(str(problem))}") from None
