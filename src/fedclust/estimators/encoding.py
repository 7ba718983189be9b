"""A one-hot encoder that learns categories from all clients."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ..core import ConfigError, DataError, checks
from ..data.client_tables import as_column, rows_by_owner, tables_by_client
from ..data.values import plain_refusals
from ..typing import Array
from ._output import KeepsOwners
from ._parameters import KnownParameters
from ._tables import (
    align_columns,
    collect,
    column_names,
    reorder_columns,
    take_owners,
    with_owners,
    without,
)
from ._transformer import without_owner


class FederatedOneHotEncoder(KnownParameters, KeepsOwners, TransformerMixin, BaseEstimator):
    """Encode categories as columns of 0 and 1, the same columns for every client.

    The names of rare categories can identify a person. A client therefore names only categories
    that at least ``min_count`` of its rows have; rows of any other category are zero in all columns
    of the feature. If the categories are public, give them.

    Parameters
    ----------
    categories : "auto" or list of array-like, default="auto"
        "auto": those that clients name. Or the categories of each column; no client is asked.
    min_count : int, default=5
        Fewest rows of a client with a category that it names. A single client, the pooled case, has
        nobody to hide categories from and names all.
    handle_unknown : {"ignore", "error"}, default="ignore"
        Whether other categories are zero in all columns, or refused.

    Attributes
    ----------
    categories_ : list of array
        The categories of each column, in order.
    clients_ : tuple of str
        Names of the clients.

    Examples
    --------
    >>> from fedclust import FederatedOneHotEncoder
    >>> tables = {"north": [["cat"], ["dog"]], "south": [["dog"], ["eel"]]}
    >>> encoder = FederatedOneHotEncoder(min_count=1).fit(tables)
    >>> encoder.transform([["dog"], ["fox"]])
    array([[0., 1., 0.],
           [0., 0., 0.]])
    >>> encoder.get_feature_names_out(["pet"]).tolist()
    ['pet_cat', 'pet_dog', 'pet_eel']
    """

    __metadata_request__fit: ClassVar = {"clients": True}  # a pipeline passes the owners on

    def __init__(
        self, *, categories: Any = "auto", min_count: int = 5, handle_unknown: str = "ignore"
    ) -> None:
        self.categories = categories
        self.min_count = min_count
        self.handle_unknown = handle_unknown

    def fit(self, X: Any, y: Any = None, clients: Any = None) -> Self:
        """Learn the categories of all clients.

        Parameters
        ----------
        X : table, or list of tables, or dict of name to table
        y : ignored
        clients : array-like of shape (n_samples,), or str, optional
            As for `FederatedStandardScaler`.

        Returns
        -------
        self
        """
        checks.integer(self, "min_count")
        if self.handle_unknown not in ("ignore", "error"):
            raise ConfigError(
                f"handle_unknown must be 'ignore' or 'error', got {self.handle_unknown!r}"
            )
        self._owner_column = clients if isinstance(clients, str) else None
        tables = _tables_of(collect(X), clients)
        self.clients_ = tuple(tables)
        least = 1 if len(tables) == 1 else self.min_count
        with plain_refusals("X"):
            named = [_name_categories(table, least) for table in tables.values()]
        if not isinstance(self.categories, str):
            categories: Any = [np.asarray(one) for one in self.categories]
        else:
            names = column_names(next(iter(tables.values())))
            categories = [
                _union(columns, place if names is None else repr(names[place]), least)
                for place, columns in enumerate(zip(*named, strict=True))
            ]
        self._encoder = OneHotEncoder(
            categories=categories, handle_unknown="ignore", sparse_output=False
        )
        first = next(iter(tables.values()))
        self._encoder.fit(first)
        self._encoder.handle_unknown = self.handle_unknown
        self.categories_ = self._encoder.categories_
        self.n_features_in_ = self._encoder.n_features_in_
        names = getattr(self._encoder, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of the result.

        Parameters
        ----------
        input_features : array-like of str, optional
            As in scikit-learn.

        Returns
        -------
        names : array of str
        """
        check_is_fitted(self)
        given, kept = without_owner(self._owner_column, input_features)
        return np.array([*self._encoder.get_feature_names_out(given), *kept], dtype=object)

    def _transform(self, X: Any, client: str | None) -> Any:
        names, owner = getattr(self, "feature_names_in_", None), self._owner_column
        features = own = X if owner is None else without(X, owner)
        if client is not None and names is not None:
            features = reorder_columns(own, names.tolist(), f"client {client!r}", "the fit")
        with plain_refusals("X" if client is None else f"client {client!r}"):
            encoded = self._encoder.transform(features)
        if owner is None or own is X:
            return encoded
        return with_owners(X, owner, encoded, self.get_feature_names_out()[:-1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


def _tables_of(X: Any, clients: Any) -> dict[str, Any]:
    """The table of each client, with the same columns in the same order."""
    tables = tables_by_client(X, clients)
    if tables is not None:
        return align_columns({name: table for name, (table, _) in tables.items()})
    if isinstance(clients, str):
        X, clients = take_owners(X, clients)
    if clients is None:
        return {"0": X}
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    groups = rows_by_owner(as_column("clients", clients, n))
    return {name: _safe_indexing(X, rows) for name, rows in groups.items()}


def _name_categories(table: Any, least: int) -> list[Array]:
    """The categories of each column that at least so many rows have."""
    encoder = OneHotEncoder(sparse_output=True)
    counts = np.asarray(encoder.fit_transform(table).sum(axis=0)).ravel()
    ends = np.cumsum([len(one) for one in encoder.categories_])
    parts = np.split(counts, ends[:-1])
    return [one[part >= least] for one, part in zip(encoder.categories_, parts, strict=True)]


def _union(columns: tuple[Array, ...], name: object, least: int) -> Array:
    """All clients' categories of a column, in order."""
    found = np.concatenate([np.asarray(one) for one in columns])
    if len(found) == 0:
        raise DataError(
            f"column {name}: no category has {least} rows of one client; lower min_count, give "
            "categories, or leave the column out if it has numbers"
        )
    categories: Array = OneHotEncoder().fit(found[:, None]).categories_[0]
    return categories
