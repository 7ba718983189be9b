"""The one registry of plans: what a client that is asked from elsewhere can build, and no more."""

from collections.abc import Mapping
from typing import Any

from .algorithms import ALGORITHMS, SEEDINGS, VERTICAL, VERTICAL_SEEDINGS, did_you_mean
from .algorithms.bounded_c_means import BoundedCMeans
from .algorithms.cell_seeding import CellSeeding
from .algorithms.record_alignment import RecordAlignment
from .algorithms.robust_c_means import RobustCMeans
from .algorithms.vertical_assignment import VerticalAssignment
from .choice.halves import HalfSeeding, HalvesCMeans, HalvesFuzzyCMeans
from .core import AnyAlgorithm, ConfigError, Plan, Transform
from .core.envelope import PlanConfig, one_line
from .metrics import Contingency, Evaluation, Outline, Presence, Profile
from .preprocessing import Histogram, MedianOfMeans, Moments
from .privacy import (
    ChangeGuard,
    FixedPoint,
    IntegerGaussian,
    MinCount,
    MinSamples,
    PairwiseMasks,
    Released,
)
from .privacy.keys import KeyExchange

_KINDS: tuple[Any, ...] = (
    *ALGORITHMS.values(),
    *SEEDINGS.values(),
    *VERTICAL.values(),
    *VERTICAL_SEEDINGS.values(),
    Evaluation,
    Contingency,
    Profile,
    Outline,
    Presence,
    HalfSeeding,
    HalvesCMeans,
    HalvesFuzzyCMeans,
    Moments,
    Histogram,
    MedianOfMeans,
    RecordAlignment,
    VerticalAssignment,
    KeyExchange,
    CellSeeding,
    BoundedCMeans,
    RobustCMeans,
)
PLANS: Mapping[str, type[AnyAlgorithm]] = {kind.__name__: kind for kind in _KINDS}
_TRANSFORMS: tuple[type[Transform], ...] = (
    MinCount,
    MinSamples,
    ChangeGuard,
    Released,
    FixedPoint,
    IntegerGaussian,
    PairwiseMasks,
)
TRANSFORMS: Mapping[str, type[Transform]] = {kind.__name__: kind for kind in _TRANSFORMS}


def build_plan(config: PlanConfig) -> Plan:
    """The plan that a configuration describes, made of the classes of this installation."""
    kind = PLANS.get(config.name)
    if kind is None:
        raise ConfigError(
            f"this fedclust has no algorithm {one_line(config.name)!r}"
            f"{did_you_mean(config.name, PLANS)}; install the same version on both sides"
        )
    algorithm = _made(kind, config.settings, config.name)
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
