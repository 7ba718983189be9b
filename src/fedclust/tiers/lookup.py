"""Which tiers there are, and from the value of `privacy` to a tier.

Another package adds a tier by an entry point of the group ``fedclust.tiers``, whose name is that of
the tier; within one process `register_tier` does the same. In a federation every machine needs it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from ..core import AnyAlgorithm, ConfigError, Schema, Transform, did_you_mean
from ..core.registry import Registry
from .base import Guarantee, Tier

K = TypeVar("K", bound=type[Any])
_PACKAGE = __name__.rpartition(".")[0]


def _check_tier(name: str, kind: Any) -> None:
    if not (isinstance(kind, type) and issubclass(kind, Tier)):
        raise ConfigError(f"{kind!r} is not a subclass of fedclust.tiers.Tier")
    if "__dataclass_fields__" not in vars(kind) or getattr(kind, "name", None) != name:
        raise ConfigError(f"{kind.__name__} must be a frozen dataclass with the name {name!r}")


TIERS: Registry[Tier] = Registry(
    {
        "none": f"{_PACKAGE}.open.Unprotected",
        "paper": f"{_PACKAGE}.open.Paper",
        "guarded": f"{_PACKAGE}.guarded.Guarded",
        "secure": f"{_PACKAGE}.secure.Secure",
        "dp": f"{_PACKAGE}.dp.Private",
        "secure+dp": f"{_PACKAGE}.dp.SecurePrivate",
    },
    "fedclust.tiers",
    check=_check_tier,
)

Privacy = str | Tier | tuple[Transform, ...]


def register_tier(kind: K) -> K:
    """Make a tier known in this process: to estimators, studies, consent and reports."""
    TIERS.add(kind.name, kind)
    return kind


def unregister_tier(kind: type[Tier]) -> None:
    """Remove a tier that was registered in this process."""
    TIERS.remove(kind.name)


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
        """The guarantee of the chosen transforms."""
        chosen = [repr(t) for t in self.chosen]
        return Guarantee(self.name, {"chosen": chosen}, self._words())

    def _words(self) -> str:
        return "What these transforms guarantee together."


def tier_of(privacy: Privacy) -> Tier:
    """The tier that `privacy` names, is, or makes of transforms."""
    if isinstance(privacy, Tier):
        return privacy
    if isinstance(privacy, tuple) and all(isinstance(t, Transform) for t in privacy):
        return CustomTransforms(privacy)
    if not isinstance(privacy, str) or privacy not in TIERS:
        raise ConfigError(
            f"privacy must be one of {', '.join(map(repr, TIERS))}, a tier, or a tuple of "
            f"transforms, got {privacy!r}{did_you_mean(privacy, TIERS)}"
        )
    return TIERS[privacy]()


def guarantee(privacy: Privacy) -> Guarantee:
    """What a tier promises, with its parameters.

    >>> guarantee("none").words.startswith("No protection.")
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
