"""Arrays that come from a GPU."""

from collections.abc import Mapping
from typing import Any

import numpy as np

_CPU, _PINNED = 1, 3  # DLPack's numbers of devices whose memory the CPU reads


def to_host(X: Any) -> Any:
    """Copy an array from a GPU, also within a list or a dict; return other data as they are.

    Arrays of CuPy and PyTorch, and others that exchange memory by DLPack, say where they are.
    """
    if isinstance(X, Mapping) and any(_is_elsewhere(table) for table in X.values()):
        return {name: to_host(table) for name, table in X.items()}
    if isinstance(X, list | tuple) and any(_is_elsewhere(table) for table in X):
        return [to_host(table) for table in X]
    if not _is_elsewhere(X):
        return X
    if hasattr(X, "get"):  # CuPy
        return X.get()
    if hasattr(X, "cpu"):  # PyTorch
        return X.detach().cpu().numpy()
    return np.from_dlpack(X, device="cpu")


def _is_elsewhere(X: Any) -> bool:
    where = getattr(X, "__dlpack_device__", None)
    return where is not None and int(where()[0]) not in (_CPU, _PINNED)
