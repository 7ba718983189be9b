"""The one registry of plans: what a client that is asked from elsewhere can build, and no more."""

from collections.abc import Mapping
from typing import Any, cast

from .algorithms import ALGORITHMS, SEEDINGS, VERTICAL, VERTICAL_SEEDINGS, did_you_mean
from .algorithms.record_alignment import RecordAlignment
from .algorithms.vertical_assignment import VerticalAssignment
from .core import AnyAlgorithm, ConfigError, Plan, Transform
from .core.envelope import PlanConfig, one_line
from .metrics import Evaluation
from .metrics.sizes import ClusterSizes
from .preprocessing import Histogram, MedianOfMeans, Moments
from .privacy import MinCount, MinSamples

PLANS: Mapping[str, type[AnyAlgorithm]] = {
    **VERTICAL_SEEDINGS,
    **SEEDINGS,
    **VERTICAL,
    **ALGORITHMS,
    **{
        kind.key: cast(type[AnyAlgorithm], kind)
        for kind in (
            Evaluation,
            ClusterSizes,
            Moments,
            Histogram,
            MedianOfMeans,
            RecordAlignment,
            VerticalAssignment,
        )
    },
}
TRANSFORMS: Mapping[str, type[Transform]] = {kind.__name__: kind for kind in (MinCount, MinSamples)}


def build_plan(config: PlanConfig) -> Plan:
    """The plan that a configuration describes, made of the classes of this installation."""
    kind = PLANS.get(config.key)
    if kind is None:
        raise ConfigError(
            f"this fedclust has no algorithm {one_line(config.key)!r}"
            f"{did_you_mean(config.key, PLANS)}; install the same version on both sides"
        )
    algorithm = _made(kind, config.settings, config.key)
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
    try:
        return kind(**settings)
    except ConfigError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError) as problem:
        raise ConfigError(f"{name}: {one_line(str(problem))}") from None
