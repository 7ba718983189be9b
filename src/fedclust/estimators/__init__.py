"""The scikit-learn face: fit, predict, transform, over rows that stay with their owners.

A federation simulated in one process: all rows are here, but only messages reach the server's
code, so the result is the one that separate machines would get.
"""

from .fuzzy_c_means import FederatedFuzzyCMeans
from .k_means import FederatedKMeans
from .vertical_fuzzy_c_means import VerticalFuzzyCMeans
from .vertical_k_means import VerticalKMeans

__all__ = ["FederatedFuzzyCMeans", "FederatedKMeans", "VerticalFuzzyCMeans", "VerticalKMeans"]
