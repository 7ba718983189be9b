"""The scikit-learn face: fit, predict, transform, over rows that stay with their owners.

A federation simulated in one process: all rows are here, but only messages reach the server's
code, so the result is the one that separate machines would get.
"""

from .fuzzy_c_means import FederatedFuzzyCMeans
from .k_means import FederatedKMeans

__all__ = ["FederatedFuzzyCMeans", "FederatedKMeans"]
