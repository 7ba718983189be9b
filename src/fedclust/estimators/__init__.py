"""scikit-learn estimators over data that stays with its owners.

The federation is simulated in one process. Only messages reach the server's code, so the result
is the same as on separate machines.
"""

from ._progress import FitRound
from .encoding import FederatedOneHotEncoder
from .fuzzy_c_means import FederatedFuzzyCMeans
from .k_means import FederatedKMeans
from .k_prototypes import FederatedKPrototypes
from .mixture import FederatedMixture
from .scaling import FederatedImputer, FederatedMinMaxScaler, FederatedStandardScaler
from .vertical_fuzzy_c_means import VerticalFuzzyCMeans
from .vertical_k_means import VerticalKMeans

__all__ = [
    "FederatedFuzzyCMeans",
    "FederatedImputer",
    "FederatedKMeans",
    "FederatedKPrototypes",
    "FederatedMinMaxScaler",
    "FederatedMixture",
    "FederatedOneHotEncoder",
    "FederatedStandardScaler",
    "FitRound",
    "VerticalFuzzyCMeans",
    "VerticalKMeans",
]
