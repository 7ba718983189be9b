"""From one word to the transforms of a plan."""

from ..core import AnyAlgorithm, ConfigError, Transform
from .suppression import MinCount, MinSamples

PRIVACY = ("none", "paper")


def transforms_for(
    algorithm: AnyAlgorithm, n_features: int, privacy: str | tuple[Transform, ...]
) -> tuple[Transform, ...]:
    """The transforms that `privacy` stands for with this algorithm.

    "paper" turns the rule of the algorithm's paper on. "none" leaves it out where it would cost
    the exact result; algorithms that promise no exact result keep it, for it costs them nothing
    they promise, and without it a cluster of one record would be sent as that record.
    """
    if isinstance(privacy, tuple):
        return privacy
    if privacy not in PRIVACY:
        raise ConfigError(
            f"privacy must be one of {', '.join(map(repr, PRIVACY))} or a tuple of transforms, "
            f"got {privacy!r}"
        )
    if privacy == "none" and algorithm.lossless:
        return ()
    rule = algorithm.rule(n_features)
    wanted: list[Transform] = []
    if rule.min_samples > 1:
        wanted.append(MinSamples(rule.min_samples))
    if rule.min_count > 1:
        wanted.append(MinCount(rule.min_count))
    return tuple(wanted)
