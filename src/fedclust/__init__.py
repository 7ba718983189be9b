"""Federated clustering: cluster the data of several owners without moving a row."""

from typing import TYPE_CHECKING

from ._lazy import lazy_names

if TYPE_CHECKING:
    from .algorithms import make, make_seeding
    from .clustering.model import load
    from .core.errors import (
        CheckpointError,
        ConfigError,
        DataError,
        EmptyRound,
        FedclustError,
        MessageError,
        TooFewClients,
    )
    from .estimators import (
        FederatedFuzzyCMeans,
        FederatedImputer,
        FederatedKMeans,
        FederatedKPrototypes,
        FederatedMinMaxScaler,
        FederatedMixture,
        FederatedOneHotEncoder,
        FederatedStandardScaler,
        VerticalFuzzyCMeans,
        VerticalKMeans,
    )
    from .study.describe_fit import write_report
    from .study.from_tables import run_study

__version__ = "0.1.0"

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DataError",
    "EmptyRound",
    "FedclustError",
    "FederatedFuzzyCMeans",
    "FederatedImputer",
    "FederatedKMeans",
    "FederatedKPrototypes",
    "FederatedMinMaxScaler",
    "FederatedMixture",
    "FederatedOneHotEncoder",
    "FederatedStandardScaler",
    "MessageError",
    "TooFewClients",
    "VerticalFuzzyCMeans",
    "VerticalKMeans",
    "load",
    "make",
    "make_seeding",
    "run_study",
    "write_report",
]


# Each name is imported when it is first used: NumPy and scikit-learn take longer than all else.
__getattr__ = lazy_names(
    __name__,
    {
        "algorithms": ("make", "make_seeding"),
        "clustering.model": ("load",),
        "core.errors": (
            "CheckpointError",
            "ConfigError",
            "DataError",
            "EmptyRound",
            "FedclustError",
            "MessageError",
            "TooFewClients",
        ),
        "estimators": (
            "FederatedFuzzyCMeans",
            "FederatedImputer",
            "FederatedKMeans",
            "FederatedKPrototypes",
            "FederatedKPrototypes",
            "FederatedMinMaxScaler",
            "FederatedMixture",
            "FederatedOneHotEncoder",
            "FederatedStandardScaler",
            "VerticalFuzzyCMeans",
            "VerticalKMeans",
        ),
        "study.describe_fit": ("write_report",),
        "study.from_tables": ("run_study",),
    },
)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
