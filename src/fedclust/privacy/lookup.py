"""From one word to a tier, and from a tier to the transforms of a plan."""

from dataclasses import dataclass
from typing import ClassVar

from ..core import AnyAlgorithm, ConfigError, Schema, Transform
from .guarded_tier import Guarded
from .noisy_tiers import Private, SecurePrivate
from .tiers import Guarantee, Paper, Secure, Tier, Unprotected

TIERS = {kind.name: kind for kind in (Unprotected, Paper, Guarded, Secure, Private, SecurePrivate)}
PRIVACY = ("none", "paper")  # those that every plan can have: no bounds, keys or memory needed

Privacy = str | Tier | tuple[Transform, ...]


@dataclass(frozen=True)
class CustomTransforms(Tier):
    """Transforms that the caller has chosen."""

    chosen: tuple[Transform, ...] = ()

    name: ClassVar[str] = "transforms"

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        return self.chosen

    @property
    def guarantee(self) -> Guarantee:
        """What is promised: whoever chose them knows."""
        chosen = [repr(t) for t in self.chosen]
        return Guarantee(self.name, {"chosen": chosen}, self._words())

    def _words(self) -> str:
        return "What these transforms promise together."


def tier_of(privacy: Privacy) -> Tier:
    """The tier that `privacy` names, is, or makes of transforms."""
    if isinstance(privacy, Tier):
        return privacy
    if isinstance(privacy, tuple) and all(isinstance(t, Transform) for t in privacy):
        return CustomTransforms(privacy)
    if not isinstance(privacy, str) or privacy not in TIERS:
        raise ConfigError(
            f"privacy must be one of {', '.join(map(repr, TIERS))}, a tier, or a tuple of "
            f"transforms, got {privacy!r}"
        )
    return TIERS[privacy]()


def guarantee(privacy: Privacy) -> Guarantee:
    """What a tier promises, with its parameters.

    >>> guarantee("none").words.startswith("Nothing is promised.")
    True
    """
    return tier_of(privacy).guarantee


def transforms_for(
    algorithm: AnyAlgorithm, n_features: int | Schema, privacy: Privacy, n_clients: int = 1
) -> tuple[Transform, ...]:
    """The transforms that `privacy` stands for with this algorithm.

    What algorithms that promise no exact result withhold by themselves (`min_count`) is withheld
    in every tier. The tiers that hide clients' sums need their channel too (`Tier.channel`).
    """
    tier = tier_of(privacy)
    tier.check(algorithm)
    schema = n_features if isinstance(n_features, Schema) else Schema(n_features)
    return tier.transforms(algorithm, schema, n_clients)
