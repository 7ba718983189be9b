"""Split rows: what a user calls data as one table for each client."""

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
    """Table and weights of each client, if X is several tables; None if it is one.

    Several tables are a dict of name to table, or a list of tables; a list of lists of numbers is
    one table, as everywhere in scikit-learn.
    """
    named = _named(X)
    if named is None:
        return None
    if clients is not None:
        raise ConfigError("clients: give one table and the owner of each row, or several tables")
    if not named:
        raise DataError("X: there is no table in it")
    weight_of = _weights(named, weights, by_name=isinstance(X, Mapping))
    return {name: (table, weight_of.get(name)) for name, table in named.items()}


def _named(X: Any) -> dict[str, Any] | None:
    if isinstance(X, Mapping) and not _is_sparse(X):
        named = {str(name): table for name, table in X.items()}
        if len(named) < len(X):
            raise DataError("X: two clients have the same name once names are text (1 and '1'?)")
        return named
    if not isinstance(X, list | tuple) or not X:
        return None
    is_table = [_is_table(table) for table in X]
    if not any(is_table):
        return None
    if not all(is_table):
        wrong = is_table.index(False)
        kind = type(X[wrong]).__name__
        raise DataError(f"X: number {wrong} of {len(X)} is not a table of rows but a {kind}")
    width = len(str(len(X) - 1))  # so that the order of names is the order of tables
    return {f"{i:0{width}d}": table for i, table in enumerate(X)}


def _is_sparse(X: Any) -> bool:
    """Whether X is a matrix of SciPy's; where nobody has imported those, it cannot be one."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def _is_table(X: Any) -> bool:
    try:
        return np.ndim(X) == 2
    except ValueError:  # rows of different lengths: let scikit-learn say so
        return False


def _weights(named: Mapping[str, Any], weights: Any, *, by_name: bool) -> dict[str, Any]:
    if weights is None:
        return {}
    if isinstance(weights, Mapping):
        given = {str(name): weight for name, weight in weights.items()}
        if not by_name or given.keys() != named.keys():
            odd = sorted(given.keys() ^ named.keys()) if by_name else sorted(given)
            raise ConfigError(
                f"sample_weight: its names must be those of the tables; {', '.join(odd)} are not "
                "in both"
            )
        return given
    if len(weights) != len(named):
        raise ConfigError(f"sample_weight: {len(named)} tables, but weights for {len(weights)}")
    return dict(zip(named, weights, strict=True))


def rows_by_owner(owner: Array) -> dict[str, IntArray]:
    """Positions of each owner's rows, in the order of the rows."""
    if owner.dtype.kind in "Of":
        nobody = [row for row, name in enumerate(owner) if is_missing(name)]
        if nobody:
            raise DataError(f"clients: row {nobody[0]} has no owner ({len(nobody)} such rows)")
    as_text = owner.astype(str) if owner.dtype.kind == "O" else owner
    ids, index, sizes = np.unique(as_text, return_inverse=True, return_counts=True)
    if owner.dtype.kind == "O" and len({(type(o), o) for o in owner}) > len(ids):
        raise DataError("clients: two owners have the same name once names are text (1 and '1'?)")
    groups = np.split(np.argsort(index, kind="stable"), np.cumsum(sizes)[:-1])
    return {str(name): group for name, group in zip(ids, groups, strict=True)}


def column(name: str, values: Any, n_samples: int) -> Any:
    """One value per row, or None."""
    if values is None:
        return None
    if isinstance(values, str):
        raise DataError(
            f"{name}: expected one value for each row, got the word {values!r}; give the column "
            f"itself, {name}=X[{values!r}], and leave it out of X"
        )
    # A list as objects: NumPy would make text of [1, "1"], and one owner of two.
    found = np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)
    if found.shape != (n_samples,):
        raise DataError(
            f"{name}: expected one value for each of {n_samples} rows, got {found.shape}"
        )
    return found
