"""The columns of data frames: which of them a study does not use, and why."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import DataError
from ..data.kinds import kind_of
from ..data.names import near_names

_SHOWN = 3  # names that are nearly the same


def describe_unused(tables: Mapping[str, Any], used: set[str]) -> str:
    """The columns that are not used, each with its reason; "" if there are none."""
    unused = sorted({name for table in tables.values() for name in table.columns} - used)
    listed = ", ".join(f"{name} ({_reason(name, tables)})" for name in unused)
    return "; ".join([listed, *_nearly_shared(tables)])


def refuse_strangers(tables: Mapping[str, Any]) -> None:
    """Refuse tables without a common column; name columns that are nearly the same."""
    if not _shared(tables):
        raise DataError("; ".join(["data: the tables share no column", *_nearly_shared(tables)]))


def refuse_odd_names(names: list[Any], who: str) -> None:
    """Refuse two columns of the same name, and names of several levels."""
    if any(isinstance(name, tuple) for name in names):
        raise DataError(f"{who}: names of columns have several levels; give each column one name")
    texts = [str(name) for name in names]
    for place, name in enumerate(texts):
        if name in texts[:place]:
            raise DataError(f"{who}: two columns are called {name!r}; rename one")


def _shared(tables: Mapping[str, Any]) -> set[str]:
    return set.intersection(*(set(table.columns) for table in tables.values()))


def _nearly_shared(tables: Mapping[str, Any]) -> list[str]:
    shared = _shared(tables)
    apart = {
        repr(client): [name for name in table.columns if name not in shared]
        for client, table in tables.items()
    }
    return near_names(apart)[:_SHOWN]


def _reason(name: str, tables: Mapping[str, Any]) -> str:
    without = [client for client, table in tables.items() if name not in table.columns]
    if without:
        return f"client {without[0]!r} does not have it"
    columns = [table[name] for table in tables.values()]
    for kind in ("Boolean", "Duration"):
        if any(str(column.dtype).startswith(kind) for column in columns):
            return f"{kind.lower()}s"
    kinds = [
        kind_of(np.asarray(column.to_list(), dtype=object))
        for column in columns
        if not column.dtype.is_numeric()
    ]
    return "numbers as text" if all(kind.numeric for kind in kinds) else str(max(kinds))
