"""The rows of a fit over split rows: checked, and split between clients."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from ..core import Data, DataError
from ..core.device import put_rows
from ..data.client_tables import as_column, rows_by_owner, tables_by_client
from ..data.values import plain_refusals, refuse_non_numeric
from ..kernels import nearest
from ..typing import FloatArray, IntArray
from ._tables import align_columns, take_owners

TABLE: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    "order": "C",
    "ensure_all_finite": False,  # Data.of checks, and names client and column
}


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that count, by client, and all rows in the order given."""

    by_client: dict[str, Data]
    tables: list[FloatArray]
    weight: FloatArray | None  # of each row
    places: dict[str, slice | IntArray]  # of each client's rows among all rows

    def put_on(self, device: str) -> Self:
        """The rows, on the device that the setting chooses."""
        data = {name: put_rows(one, device) for name, one in self.by_client.items()}
        moved = {id(self.by_client[name].X): one.X for name, one in data.items()}
        return replace(self, by_client=data, tables=[moved.get(id(X), X) for X in self.tables])

    def take_columns(self, order: list[int]) -> Self:
        """The rows with their columns in another order."""
        data = {n: replace(one, X=one.X[:, order].copy()) for n, one in self.by_client.items()}
        return replace(self, by_client=data, tables=[X[:, order].copy() for X in self.tables])

    def nearest(self, centers: FloatArray) -> IntArray:
        """The nearest centre of each row."""
        return np.concatenate([label(X, centers) for X in self.tables])

    def sizes(self, centers: FloatArray) -> FloatArray:
        """Weight of the rows nearest to each centre; rows without any value have none."""
        labels = self.nearest(centers)
        labelled, weight = labels >= 0, self.weight
        w = None if weight is None else weight[labelled]
        return np.bincount(labels[labelled], w, len(centers)).astype(float)

    def refuse_fewer_than(self, n_clusters: int) -> None:
        """Refuse fewer rows than clusters."""
        n_samples = sum(len(data) for data in self.by_client.values())
        if n_samples == 0 and any(len(X) for X in self.tables):
            if all(np.isnan(X).all() for X in self.tables):
                raise DataError("no row has a value in any column, so there is nothing to cluster")
            raise DataError(
                "no rows to cluster: all of them have sample_weight zero or no value at all"
            )
        refuse_fewer_than(n_clusters, n_samples)


def refuse_fewer_than(n_clusters: int, n_samples: int) -> None:
    """Refuse fewer rows than clusters, and a single row."""
    if n_samples < 2:
        raise DataError(
            f"n_samples={n_samples}, but at least 2 rows are needed; the centre of a single row "
            "would be that row"
        )
    if n_samples < n_clusters:
        raise DataError(
            f"n_clusters={n_clusters} is more than there are rows (n_samples={n_samples})"
        )


def label(X: FloatArray, centers: FloatArray) -> IntArray:
    """The nearest centre of each row; -1 for a row without any value."""
    labels = nearest(X, centers)[0]
    empty = np.flatnonzero(np.isnan(X[:, 0]))  # no other row can be without any value
    labels[empty[np.isnan(X[empty]).all(axis=1)]] = -1
    return labels


def join_tables(
    read: Callable[[Any, str | None], FloatArray], X: Any, sample_weight: Any
) -> tuple[FloatArray, Any]:
    """The rows of one table, or of several one after the other, and the weight of each row."""
    tables = tables_by_client(X, weights=sample_weight)
    if tables is None:
        return read(X, None), sample_weight
    rows = np.concatenate([read(table, client) for client, (table, _) in tables.items()])
    if sample_weight is None:
        return rows, None
    return rows, np.concatenate([weight for _, weight in tables.values()])


def read_rows(estimator: Any, X: Any, clients: Any, sample_weight: Any) -> Rows:
    """Check the data of a fit; the estimator remembers the number and names of the features."""
    tables = tables_by_client(X, clients, sample_weight)
    if tables is not None:
        return _read_tables(estimator, tables)
    if isinstance(clients, str):
        X, clients = take_owners(X, clients)
    return _split(estimator, X, clients, sample_weight)


def check_table(
    estimator: Any, X: Any, who: str = "X", *, reset: bool, fewest: int = 1
) -> FloatArray:
    """The table as an array; its number of columns and their names are kept, or compared."""
    refuse_non_numeric(X, who)
    with plain_refusals(who):
        return validate_data(  # type: ignore[no-any-return]
            estimator, X, reset=reset, ensure_min_samples=fewest, **TABLE
        )


def _split(estimator: Any, X: Any, clients: Any, sample_weight: Any) -> Rows:
    """Split one table by the owner of each row."""
    rows = check_table(estimator, X, reset=True)
    weight = as_column("sample_weight", sample_weight, len(rows))
    names = getattr(estimator, "feature_names_in_", None)
    partial = estimator.missing == "partial"
    checked = _check_rows(estimator, rows, weight, "X", names)  # so that errors name rows of X
    by_row = None if weight is None else np.asarray(weight, dtype=float)
    if clients is None:
        return Rows({"0": checked}, [rows], by_row, {"0": slice(None)})
    groups = rows_by_owner(as_column("clients", clients, len(rows)))
    owners = {
        name: Data.of(rows[group], None if by_row is None else by_row[group], missing=partial)
        for name, group in groups.items()
    }
    return Rows(owners, [rows], by_row, {**groups})


def _read_tables(estimator: Any, tables: dict[str, tuple[Any, Any]]) -> Rows:
    """Check one table per client, with the same columns in each."""
    aligned = align_columns({name: table for name, (table, _) in tables.items()})
    found = Rows({}, [], None, {})
    weights: list[FloatArray] = []
    n_rows = 0
    for name, table in aligned.items():
        client, weight = f"client {name!r}", tables[name][1]
        rows = _read_table(estimator, table, client, first=not found.tables)
        columns = getattr(estimator, "feature_names_in_", None)
        found.by_client[name] = _check_rows(estimator, rows, weight, client, columns)
        found.places[name] = slice(n_rows, n_rows + len(rows))
        found.tables.append(rows)
        n_rows += len(rows)
        weights.append(np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float))
    return Rows(found.by_client, found.tables, np.concatenate(weights), found.places)


def _check_rows(estimator: Any, rows: FloatArray, weight: Any, client: str, names: Any) -> Data:
    """The rows that count; an error about missing values names what takes or fills them."""
    partial = estimator.missing == "partial"
    try:
        return Data.of(rows, weight, client=client, names=names, missing=partial)
    except DataError as error:
        if partial or not np.isnan(rows).any() or np.isinf(rows).any():
            raise
        remedy = "set missing='partial', or use FederatedImputer"
        raise DataError(str(error).replace("drop or fill them first", remedy)) from None


def _read_table(estimator: Any, table: Any, client: str, *, first: bool) -> FloatArray:
    shape: tuple[int, ...] = getattr(table, "shape", ())
    if not first and len(shape) == 2 and shape[1] != estimator.n_features_in_:
        raise DataError(
            f"{client}: {shape[1]} columns, but the tables before it have "
            f"{estimator.n_features_in_}; every client needs the same columns"
        )
    try:
        return check_table(estimator, table, client, reset=first, fewest=0)
    except DataError:
        raise
    except (TypeError, ValueError) as problem:
        raise DataError(f"{client}: {' '.join(str(problem).split())}") from None
