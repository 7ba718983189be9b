"""Public data sets, the papers' synthetic data sets, and ways to split them into clients."""

from .dataset import Dataset
from .loader import available, content_hash, folder, load
from .partition import by_distance, by_k_means, by_value, dirichlet, iid, locally_absent
from .synthetic import (
    dwf_blobs,
    ffcm_case1,
    ffcm_case2,
    ffcm_case3,
    fkm_grid,
    g2,
    waveform,
)

__all__ = [
    "Dataset",
    "available",
    "by_distance",
    "by_k_means",
    "by_value",
    "content_hash",
    "dirichlet",
    "dwf_blobs",
    "ffcm_case1",
    "ffcm_case2",
    "ffcm_case3",
    "fkm_grid",
    "folder",
    "g2",
    "iid",
    "load",
    "locally_absent",
    "waveform",
]
