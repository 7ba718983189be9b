"""Columns split between owners: convert the user's data to one table per owner."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import ConfigError, Data, DataError
from ..typing import FloatArray
from .values import is_missing, refuse_non_numeric


class Table(NamedTuple):
    """One owner's rows, and the names of its columns if they have names."""

    X: FloatArray
    names: tuple[str, ...] | None

    def reorder(self, names: tuple[str, ...] | None, owner: str) -> FloatArray:
        """Rows with columns in the order of `names`; refuse other columns."""
        if names is None or self.names is None or names == self.names:
            return self.X
        if sorted(names) != sorted(self.names):
            raise DataError(
                f"owner {owner!r}: expected the columns of the fit, {', '.join(names)}, got "
                f"{', '.join(self.names)}"
            )
        return self.X[:, [self.names.index(name) for name in names]]


def table_of(table: Any, owner: str) -> Table:
    """Check one owner's table: a data frame, an array, or a dict of column to values."""
    place = f"owner {owner!r}"
    names = column_names(table, owner)
    if isinstance(table, Mapping):
        table = _stack(table, place)
    refuse_non_numeric(table, place)
    rows = Data.of(table, client=place, names=names).X
    return Table(rows, None if names is None else tuple(map(str, names)))


def column_names(table: Any, owner: str) -> list[Any] | None:
    """Column names of a data frame or a dict; refuse duplicates."""
    names = list(table) if isinstance(table, Mapping) else getattr(table, "columns", None)
    if names is None:
        return None
    names = list(names)
    repeated = [n for n in names if names.count(n) > 1]
    if repeated:
        raise DataError(f"owner {owner!r}: two columns are called {repeated[0]!r}; rename one")
    return names


def _stack(table: Mapping[Any, Any], place: str) -> FloatArray:
    columns = []
    for name, values in table.items():
        column = np.asarray(values)
        if column.ndim != 1:
            raise DataError(f"{place}: column {name!r} must have one value per row")
        if column.dtype.kind not in "fiub":
            raise DataError(f"{place}: column {name!r} is not numeric")
        columns.append(column)
    sizes = {len(column) for column in columns}
    if len(sizes) > 1:
        raise DataError(f"{place}: its columns have different lengths ({sorted(sizes)})")
    return np.column_stack(columns)


def check_tables(tables: Mapping[str, Any]) -> dict[str, Table]:
    """Check that each owner's table is numeric, and that all have the same records."""
    checked = {name: table_of(table, name) for name, table in tables.items()}
    sizes = {name: len(table.X) for name, table in checked.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {n:,}" for name, n in sizes.items())
        raise DataError(
            f"owners must have the same records in the same order, but the numbers of rows differ "
            f"({listed}); use fit_frames to align them by an id column"
        )
    return checked


def reorder_as_fitted(
    tables: Mapping[str, Table], fitted: Mapping[str, tuple[int, tuple[str, ...] | None]]
) -> dict[str, FloatArray]:
    """Rows of new records with owners and columns as in the fit; refuse any others."""
    absent, unknown = sorted(fitted.keys() - tables.keys()), sorted(tables.keys() - fitted.keys())
    if absent or unknown:
        groups = (("missing", absent), ("unknown", unknown))
        listed = "; ".join(f"{what} {', '.join(names)}" for what, names in groups if names)
        raise DataError(f"owners must be exactly those of the fit: {listed}")
    for owner, table in tables.items():
        wanted, given = fitted[owner][0], table.X.shape[1]
        if wanted != given:
            raise DataError(f"owner {owner!r}: {given} columns, expected {wanted} as in the fit")
        if len(table.X) == 0:
            raise DataError("X: contains no records")
    return {owner: table.reorder(fitted[owner][1], owner) for owner, table in tables.items()}


def as_names(owners: Iterable[Any]) -> list[str]:
    """Owners' names as text; refuse missing and ambiguous names."""
    given = list(owners)
    if any(is_missing(owner) for owner in given):
        raise DataError("owners: a name is missing")
    distinct = {(type(owner), owner) for owner in given}
    if len({str(owner) for owner in given}) < len(distinct):
        raise DataError("owners: two names are equal as text, such as 1 and '1'; rename one")
    return [str(owner) for owner in given]


def split_columns(
    rows: FloatArray, owners: Any, names: Sequence[Any] | None
) -> dict[str, FloatArray]:
    """Split one table by the owner of each column."""
    if owners is None:
        return {"0": rows}
    known = list(range(rows.shape[1]) if names is None else names)
    if not isinstance(owners, Mapping):
        if isinstance(owners, str) or np.ndim(owners) != 1 or len(owners) != len(known):
            raise DataError(f"owners: expected one name per column ({len(known)})")
        by_column = as_names(owners)
        columns_of = {o: [i for i, b in enumerate(by_column) if b == o] for o in by_column}
        return {owner: rows[:, columns] for owner, columns in columns_of.items()}
    indices: dict[str, list[int]] = {}
    for owner, name in zip(owners, as_names(owners), strict=True):
        listed = owners[owner]
        if isinstance(listed, str) or not isinstance(listed, Iterable):
            raise ConfigError(f"owners: owner {name!r} needs a list of columns, got {listed!r}")
        indices[name] = [_column_index(column, known, name) for column in listed]
    used = [p for listed in indices.values() for p in listed]
    if len(used) != len(set(used)):
        raise ConfigError("owners: a column is listed twice; each column has one owner")
    left = [str(known[p]) for p in range(len(known)) if p not in used]
    if left:
        raise ConfigError(
            f"owners: no owner for column {', '.join(left)}; assign it, or drop it from X"
        )
    return {owner: rows[:, columns] for owner, columns in indices.items()}


def _column_index(column: Any, names: list[Any], owner: str) -> int:
    if column not in names:
        raise ConfigError(f"owners: owner {owner!r} has column {column!r}, which is not in X")
    return names.index(column)
