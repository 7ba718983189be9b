"""What a user calls data, taken apart by owner."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..core import ConfigError, DataError
from ..typing import IntArray


def tables_by_client(
    X: Any, clients: Any = None, weights: Any = None
) -> dict[str, tuple[Any, Any]] | None:
    """Table and weights of each client, if X is several tables; None if it is one.

    Several tables are a dict of name to table, or a list of tables; a list of lists of numbers is
    one table, as everywhere in scikit-learn.
    """
    if isinstance(X, Mapping) and not issparse(X):
        named = {str(name): table for name, table in X.items()}
    elif isinstance(X, list | tuple) and X and all(np.ndim(table) == 2 for table in X):
        width = len(str(len(X) - 1))  # so that the order of names is the order of tables
        named = {f"{i:0{width}d}": table for i, table in enumerate(X)}
    else:
        return None
    if clients is not None:
        raise ConfigError("clients: give one table and the owner of each row, or several tables")
    if not named:
        raise DataError("X: there is no table in it")
    if weights is None:
        return {name: (table, None) for name, table in named.items()}
    given = list(weights.values() if isinstance(weights, Mapping) else weights)
    if len(given) != len(named):
        raise ConfigError(f"sample_weight: {len(named)} tables, but weights for {len(given)}")
    return {n: (t, w) for (n, t), w in zip(named.items(), given, strict=True)}


def rows_by_owner(owner: Any) -> dict[str, IntArray]:
    """Positions of each owner's rows, in the order of the rows."""
    ids, index, sizes = np.unique(owner, return_inverse=True, return_counts=True)
    groups = np.split(np.argsort(index, kind="stable"), np.cumsum(sizes)[:-1])
    return {str(name): group for name, group in zip(ids, groups, strict=True)}


def column(name: str, values: Any, n_samples: int) -> Any:
    """One value per row, or None."""
    if values is None:
        return None
    found = np.asarray(values)
    if found.shape != (n_samples,):
        raise DataError(
            f"{name}: expected one value for each of {n_samples} rows, got {found.shape}"
        )
    return found
