"""Rows split between clients: convert the user's data to one table per client."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import ConfigError, DataError
from ..typing import Array, IntArray
from .values import is_missing


def tables_by_client(
    X: Any, clients: Any = None, weights: Any = None
) -> dict[str, tuple[Any, Any]] | None:
    """Return the table and weights of each client, or None if X is a single table.

    Several tables are a dict of name to table, or a list of tables. A list of lists of numbers is
    one table, as in scikit-learn.
    """
    named = _name_tables(X)
    if named is None:
        return None
    if clients is not None:
        raise ConfigError("clients: not allowed with several tables; each table is one client")
    if not named:
        raise DataError("X: contains no table; pass at least one")
    weight_of = _weights(named, weights, by_name=isinstance(X, Mapping))
    return {name: (table, weight_of.get(name)) for name, table in named.items()}


def _name_tables(X: Any) -> dict[str, Any] | None:
    if isinstance(X, Mapping) and not _is_sparse(X):
        named = {str(name): table for name, table in X.items()}
        if len(named) < len(X):
            raise DataError("X: two client names are equal as text, such as 1 and '1'; rename one")
        return named
    if not isinstance(X, list | tuple) or not X:
        return None
    is_table = [_is_table(table) for table in X]
    if not any(is_table):
        return None
    if not all(is_table):
        wrong = is_table.index(False)
        kind = type(X[wrong]).__name__
        raise DataError(f"X: item {wrong} of {len(X)} must be a table of rows, but is a {kind}")
    width = len(str(len(X) - 1))  # so that the order of names is the order of tables
    return {f"{i:0{width}d}": table for i, table in enumerate(X)}


def _is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix; it cannot be one unless scipy.sparse is imported."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def _is_table(X: Any) -> bool:
    try:
        return np.ndim(X) == 2
    except ValueError:  # rows of different lengths, which scikit-learn reports
        return False


def _weights(named: Mapping[str, Any], weights: Any, *, by_name: bool) -> dict[str, Any]:
    if weights is None:
        return {}
    if isinstance(weights, Mapping):
        given = {str(name): weight for name, weight in weights.items()}
        if not by_name or given.keys() != named.keys():
            odd = sorted(given.keys() ^ named.keys()) if by_name else sorted(given)
            raise ConfigError(
                "sample_weight: its names must be those of the tables; not in both: "
                + ", ".join(odd)
            )
        return given
    if len(weights) != len(named):
        raise ConfigError(
            f"sample_weight: expected weights for {len(named)} tables, got {len(weights)}"
        )
    return dict(zip(named, weights, strict=True))


def rows_by_owner(owner: Array) -> dict[str, IntArray]:
    """Positions of each owner's rows, in the order of the rows."""
    if owner.dtype.kind in "Of":
        without_owner = [row for row, name in enumerate(owner) if is_missing(name)]
        if without_owner:
            first, count = without_owner[0], len(without_owner)
            raise DataError(f"clients: missing in {count} rows, first in row {first}; drop them")
    as_text = owner.astype(str) if owner.dtype.kind == "O" else owner
    ids, index, sizes = np.unique(as_text, return_inverse=True, return_counts=True)
    if owner.dtype.kind == "O" and len({(type(o), o) for o in owner}) > len(ids):
        raise DataError("clients: two names are equal as text, such as 1 and '1'; rename one")
    groups = np.split(np.argsort(index, kind="stable"), np.cumsum(sizes)[:-1])
    return {str(name): group for name, group in zip(ids, groups, strict=True)}


def as_column(name: str, values: Any, n_samples: int) -> Any:
    """Values as an array with one value per row, or None."""
    if values is None:
        return None
    if isinstance(values, str):
        raise DataError(
            f"{name}: expected one value per row, got the text {values!r}; pass the column itself, "
            f"{name}=X[{values!r}], and drop it from X"
        )
    # Keep lists as objects: NumPy would convert [1, "1"] to text and merge two owners.
    column = np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)
    if column.shape != (n_samples,):
        raise DataError(
            f"{name}: expected one value per row ({n_samples}), got shape {column.shape}"
        )
    return column
