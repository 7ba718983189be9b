"""Tables as users pass them: lazy frames, a column of owners, columns in another order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
from narwhals.exceptions import NarwhalsError

from ..core import DataError, did_you_mean
from ..core.host import to_host
from ..data.client_tables import tables_by_client


def map_tables(function: Callable[[Any, str | None], Any], X: Any) -> Any:
    """The function of a table and its client, for one table or for each of several."""
    X = collect(X)
    tables = tables_by_client(X)
    if tables is None:
        return function(X, None)
    found = [function(table, client) for client, (table, _) in tables.items()]
    return dict(zip(X, found, strict=True)) if isinstance(X, Mapping) else found


def collect(X: Any) -> Any:
    """Compute lazy frames and copy arrays from a GPU, also within a list or a dict."""
    X = to_host(X)
    if isinstance(X, Mapping) and any(_is_lazy(table) for table in X.values()):
        return {name: collect(table) for name, table in X.items()}
    if isinstance(X, list | tuple) and any(_is_lazy(table) for table in X):
        return [collect(table) for table in X]
    return X.collect() if _is_lazy(X) else X


def _is_lazy(X: Any) -> bool:
    """Whether X is a Polars LazyFrame, without importing Polars."""
    return hasattr(X, "collect") and hasattr(X, "collect_schema")


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a data frame; None if X is something else, or has no names."""
    frame = _frame(X)
    if frame is None or not all(isinstance(name, str) for name in frame.columns):
        return None
    return list(frame.columns)


def take_owners(X: Any, column: str) -> tuple[Any, Any]:
    """The table without the column that names the owner of each row, and that column."""
    names = column_names(X)
    if names is None:
        raise DataError(
            f"clients={column!r} names a column, but the columns of X have no names; pass a data "
            "frame, or the owner of each row"
        )
    if column not in names:
        raise DataError(
            f"clients={column!r}: X has no such column; it has {', '.join(names)}"
            f"{did_you_mean(column, names)}"
        )
    return without(X, column), _frame(X)[column].to_native()


def without(X: Any, column: str) -> Any:
    """The table without a column; unchanged if it has no such column."""
    if column not in (column_names(X) or ()):
        return X
    return _frame(X).drop(column).to_native()


def column_of(X: Any, name: str) -> list[Any]:
    """The values of a column of a data frame."""
    values: list[Any] = _frame(X)[name].to_list()
    return values


def with_column(X: Any, name: str, values: Any) -> Any:
    """The data frame with other values in a column."""
    frame = _frame(X)
    made = nw.new_series(name, values, backend=frame.implementation)
    if frame.implementation.is_pandas_like():  # whose columns have an index
        made = nw.from_native(made.to_native().set_axis(X.index), series_only=True)
    return frame.with_columns(made).to_native()


def align_columns(tables: Mapping[str, Any]) -> dict[str, Any]:
    """All clients' tables with their columns in the order of the first; refuse other columns."""
    first, *_ = tables
    names = column_names(tables[first])
    like = f"client {first!r}"
    return {
        client: reorder_columns(table, names, f"client {client!r}", like)
        for client, table in tables.items()
    }


def reorder_columns(X: Any, names: Sequence[str] | None, who: str, like: str) -> Any:
    """The table with the columns of these names, in this order; refuse other columns."""
    own = column_names(X)
    if own == names or (own is not None and names is not None and own == list(names)):
        return X
    if own is None or names is None:
        named, unnamed = (who, like) if own is not None else (like, who)
        raise DataError(
            f"the columns of {named} have names, those of {unnamed} have none; pass data frames "
            "for all clients, or arrays for all"
        )
    absent = [name for name in names if name not in own]
    extra = [name for name in own if name not in names]
    if absent or extra:
        parts = (("missing", absent), ("only here", extra))
        listed = "; ".join(f"{what}: {', '.join(map(repr, each))}" for what, each in parts if each)
        raise DataError(f"{who}: its columns must be those of {like} ({listed})")
    return _frame(X).select(list(names)).to_native()


def _frame(X: Any) -> Any:
    """The table as a data frame of narwhals; None if it is no data frame."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except NarwhalsError:  # such as columns with the same name, which are refused elsewhere
        return None
    return frame if isinstance(frame, nw.DataFrame) else None


def frame_like(X: Any, values: Any, names: Sequence[str]) -> Any:
    """A data frame of the kind of X with these values, and with its index."""
    frame = _frame(X)
    columns = {name: values[:, place] for place, name in enumerate(names)}
    made = nw.from_dict(columns, backend=frame.implementation).to_native()
    return made.set_axis(X.index) if frame.implementation.is_pandas_like() else made


def with_owners(X: Any, column: str, values: Any, names: Sequence[str]) -> Any:
    """A data frame of the kind of X with these values, and with its column of owners."""
    frame = _frame(X)
    made = [
        nw.new_series(name, values[:, place], backend=frame.implementation)
        for place, name in enumerate(names)
    ]
    return frame.select(column).with_columns(*made).select([*names, column]).to_native()
