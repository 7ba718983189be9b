"""From one word to the transforms of a plan."""

from ..core import AnyAlgorithm, ConfigError, Transform
from .suppression import MinCount, MinSamples

PRIVACY = ("none", "paper")


def transforms_for(
    algorithm: AnyAlgorithm, n_features: int, privacy: str | tuple[Transform, ...]
) -> tuple[Transform, ...]:
    """The transforms that `privacy` stands for with this algorithm.

    "paper" is the rule of the algorithm's paper; "none" is no transform at all. What algorithms
    that promise no exact result withhold by themselves (`min_count`) is withheld either way.
    """
    if isinstance(privacy, tuple) and all(isinstance(t, Transform) for t in privacy):
        return privacy
    if not isinstance(privacy, str) or privacy not in PRIVACY:
        raise ConfigError(
            f"privacy must be one of {', '.join(map(repr, PRIVACY))} or a tuple of transforms, "
            f"got {privacy!r}"
        )
    if privacy == "none":
        return ()
    rule = algorithm.rule(n_features)
    wanted: list[Transform] = []
    if rule.min_samples > 1:
        wanted.append(MinSamples(rule.min_samples))
    if rule.min_count > 1:
        wanted.append(MinCount(rule.min_count))
    return tuple(wanted)
