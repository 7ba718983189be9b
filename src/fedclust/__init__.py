"""Federated clustering: the clusters of everybody's data, and no row leaves its owner."""

from typing import TYPE_CHECKING, Any

from .algorithms import make, make_seeding
from .core import (
    CheckpointError,
    ConfigError,
    DataError,
    EmptyRound,
    FedclustError,
    MessageError,
    TooFewClients,
)

if TYPE_CHECKING:
    from .clustering.model import load
    from .estimators import (
        FederatedFuzzyCMeans,
        FederatedKMeans,
        VerticalFuzzyCMeans,
        VerticalKMeans,
    )

__version__ = "0.1.0"

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DataError",
    "EmptyRound",
    "FedclustError",
    "FederatedFuzzyCMeans",
    "FederatedKMeans",
    "MessageError",
    "TooFewClients",
    "VerticalFuzzyCMeans",
    "VerticalKMeans",
    "load",
    "make",
    "make_seeding",
]


def __getattr__(name: str) -> Any:
    if name == "load":
        from .clustering.model import load

        return load
    # scikit-learn takes longer to import than all of fedclust: only those who use it pay.
    if name in __all__:  # all else is here already
        from . import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
