"""What a user calls data, taken apart by the owner of each column."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import ConfigError, Data, DataError
from ..typing import FloatArray
from .tables import no_dates_or_words


def same_records(tables: Mapping[str, Any]) -> dict[str, Data]:
    """One table per owner, checked: each of numbers, all of the same records."""
    checked = {name: table_of(table, name) for name, table in tables.items()}
    sizes = {name: len(data) for name, data in checked.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {n:,}" for name, n in sizes.items())
        raise DataError(
            f"owners must have the same records in the same order, but have {listed} rows; "
            "fit_frames aligns them by an id column"
        )
    return checked


def table_of(table: Any, owner: str, names: Sequence[Any] | None = None) -> Data:
    """One owner's table, checked; errors name the owner and the column."""
    name = f"owner {owner!r}"
    no_dates_or_words(table, name)
    return Data.of(table, client=name, names=names or getattr(table, "columns", None))


def cut(rows: FloatArray, owners: Any, names: Sequence[Any] | None) -> dict[str, FloatArray]:
    """One table, taken apart by the owner of each column."""
    if owners is None:
        return {"0": rows}
    if isinstance(owners, Mapping):
        known = list(range(rows.shape[1]) if names is None else names)
        places = {str(o): [_place(c, known, o) for c in listed] for o, listed in owners.items()}
        used = [p for listed in places.values() for p in listed]
        if len(used) != len(set(used)):
            raise ConfigError("owners: a column may have one owner only")
        return {owner: rows[:, listed] for owner, listed in places.items()}
    who = np.asarray(owners)
    if who.shape != (rows.shape[1],):
        raise DataError(
            f"owners: expected one name for each of {rows.shape[1]} columns, got {who.shape}"
        )
    return {str(o): rows[:, who == o] for o in dict.fromkeys(who.tolist())}


def _place(column: Any, names: list[Any], owner: Any) -> int:
    if column not in names:
        raise ConfigError(f"owners: owner {owner!r} has a column {column!r}, which X has not")
    return names.index(column)
