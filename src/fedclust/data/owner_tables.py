"""Split columns: what a user calls data as one table for each owner of columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import ConfigError, Data, DataError
from ..typing import FloatArray
from .values import is_missing, no_dates_or_words


class Table(NamedTuple):
    """One owner's rows, and its columns' names where they have any."""

    X: FloatArray
    names: tuple[str, ...] | None

    def like(self, names: tuple[str, ...] | None, owner: str) -> FloatArray:
        """The rows with columns in the order of `names`; refuse other columns."""
        if names is None or self.names is None or names == self.names:
            return self.X
        if sorted(names) != sorted(self.names):
            raise DataError(
                f"owner {owner!r}: its columns were {', '.join(names)} in the fit, and are now "
                f"{', '.join(self.names)}"
            )
        return self.X[:, [self.names.index(name) for name in names]]


def table_of(table: Any, owner: str) -> Table:
    """One owner's table, checked: a data frame, an array, or a dict of column to values."""
    place = f"owner {owner!r}"
    names = column_names(table, owner)
    if isinstance(table, Mapping):
        table = _stacked(table, place)
    no_dates_or_words(table, place)
    rows = Data.of(table, client=place, names=names).X
    return Table(rows, None if names is None else tuple(map(str, names)))


def column_names(table: Any, owner: str) -> list[Any] | None:
    """The names of a data frame's columns, or of a dict's; refuse a name that stands twice."""
    names = list(table) if isinstance(table, Mapping) else getattr(table, "columns", None)
    if names is None:
        return None
    names = list(names)
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise DataError(f"owner {owner!r}: it has two columns called {twice[0]!r}")
    return names


def _stacked(table: Mapping[Any, Any], place: str) -> FloatArray:
    columns = []
    for name, values in table.items():
        column = np.asarray(values)
        if column.ndim != 1:
            raise DataError(f"{place}: column {name!r} must hold one value per row")
        if column.dtype.kind not in "fiub":
            raise DataError(f"{place}: column {name!r} holds values that are no numbers")
        columns.append(column)
    sizes = {len(column) for column in columns}
    if len(sizes) > 1:
        raise DataError(f"{place}: its columns have different lengths ({sorted(sizes)})")
    return np.column_stack(columns)


def same_records(tables: Mapping[str, Any]) -> dict[str, Table]:
    """One table per owner, checked: each of numbers, all of the same records."""
    checked = {name: table_of(table, name) for name, table in tables.items()}
    sizes = {name: len(table.X) for name, table in checked.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {n:,}" for name, n in sizes.items())
        raise DataError(
            f"owners must have the same records in the same order, but have {listed} rows; "
            "fit_frames aligns them by an id column"
        )
    return checked


def like_before(
    tables: Mapping[str, Table], before: Mapping[str, tuple[int, tuple[str, ...] | None]]
) -> dict[str, FloatArray]:
    """Rows of new records, once owners and columns are those of the fit, in its order."""
    absent, odd = sorted(before.keys() - tables.keys()), sorted(tables.keys() - before.keys())
    if absent or odd:
        listed = (("missing", absent), ("unknown", odd))
        said = "; ".join(f"{what} {', '.join(names)}" for what, names in listed if names)
        raise DataError(f"every owner is needed, and no other: {said}")
    for owner, table in tables.items():
        wanted, given = before[owner][0], table.X.shape[1]
        if wanted != given:
            raise DataError(f"owner {owner!r}: {given} columns, but it had {wanted} in the fit")
        if len(table.X) == 0:
            raise DataError("X: there is no record in it")
    return {owner: table.like(before[owner][1], owner) for owner, table in tables.items()}


def as_names(owners: Iterable[Any]) -> list[str]:
    """Owners' names as text, each its own."""
    given = list(owners)
    if any(is_missing(owner) for owner in given):
        raise DataError("owners: a name is missing")
    distinct = {(type(owner), owner) for owner in given}
    if len({str(owner) for owner in given}) < len(distinct):
        raise DataError("owners: two have the same name once names are text (1 and '1'?)")
    return [str(owner) for owner in given]


def cut(rows: FloatArray, owners: Any, names: Sequence[Any] | None) -> dict[str, FloatArray]:
    """One table, taken apart by the owner of each column."""
    if owners is None:
        return {"0": rows}
    known = list(range(rows.shape[1]) if names is None else names)
    if not isinstance(owners, Mapping):
        if isinstance(owners, str) or np.ndim(owners) != 1 or len(owners) != len(known):
            raise DataError(f"owners: expected one name for each of {len(known)} columns")
        who = as_names(owners)
        return {o: rows[:, [i for i, w in enumerate(who) if w == o]] for o in dict.fromkeys(who)}
    places: dict[str, list[int]] = {}
    for owner, name in zip(owners, as_names(owners), strict=True):
        listed = owners[owner]
        if isinstance(listed, str) or not isinstance(listed, Iterable):
            raise ConfigError(f"owners: give owner {name!r} a list of columns, not {listed!r}")
        places[name] = [_place(column, known, name) for column in listed]
    used = [p for listed in places.values() for p in listed]
    if len(used) != len(set(used)):
        raise ConfigError("owners: a column may have one owner only")
    left = [str(known[p]) for p in range(len(known)) if p not in used]
    if left:
        raise ConfigError(f"owners: nobody has column {', '.join(left)}; leave it out of X")
    return {owner: rows[:, listed] for owner, listed in places.items()}


def _place(column: Any, names: list[Any], owner: str) -> int:
    if column not in names:
        raise ConfigError(f"owners: owner {owner!r} has a column {column!r}, which X has not")
    return names.index(column)
