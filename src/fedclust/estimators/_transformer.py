"""Base class of the transformers that learn from all clients."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..channels import LocalChannel
from ..core import AnyAlgorithm, Data, Plan, Schema, run
from ..typing import FloatArray
from ._output import KeepsOwners
from ._parameters import KnownParameters
from ._rows import check_table, read_rows
from ._tables import collect, map_tables, reorder_columns, with_owners, without


class FederatedTransformer(
    KnownParameters, KeepsOwners, OneToOneFeatureMixin, TransformerMixin, BaseEstimator
):
    """Base class: splits rows by client, learns from their messages, changes each table."""

    __metadata_request__fit: ClassVar = {"clients": True}  # a pipeline passes the owners on

    missing: ClassVar[str] = "partial"  # NaN is a missing value, which counts nowhere

    def fit(self, X: Any, y: Any = None, clients: Any = None) -> Self:
        """Learn from the rows of all clients.

        Parameters
        ----------
        X : table, or list of tables, or dict of name to table
            As for `FederatedKMeans`. NaN is a missing value.
        y : ignored
        clients : array-like of shape (n_samples,), or str, optional
            The owner of each row, or the name of the column of X that has the owners. That column
            is kept as it is, so that the next step of a pipeline can use it.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._owner_column = clients if isinstance(clients, str) else None
        rows = read_rows(self, collect(X), clients, None)
        data = {
            name: Data(one.X.astype(np.float64, copy=False), np.empty(0))
            for name, one in rows.by_client.items()
        }
        self.clients_ = tuple(data)
        channel, schema = LocalChannel(data), Schema(self.n_features_in_, missing=True)
        self._learn(lambda query: run(Plan(query), channel, schema).model)
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
        return np.array([*super().get_feature_names_out(given), *kept], dtype=object)

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot be."""

    def _learn(self, ask: Callable[[AnyAlgorithm], Any]) -> None:
        """Learn from the answers of all clients."""
        raise NotImplementedError

    def _apply(self, rows: FloatArray) -> FloatArray:
        """The changed rows."""
        raise NotImplementedError

    def _transform(self, X: Any, client: str | None) -> Any:
        return self._change(self._apply, X, client)

    def _map(self, function: Callable[[FloatArray], FloatArray], X: Any) -> Any:
        check_is_fitted(self)
        return map_tables(lambda table, client: self._change(function, table, client), X)

    def _change(
        self, function: Callable[[FloatArray], FloatArray], X: Any, client: str | None
    ) -> Any:
        names, owner = getattr(self, "feature_names_in_", None), self._owner_column
        who = "X" if client is None else f"client {client!r}"
        features = own = X if owner is None else without(X, owner)
        if client is not None and names is not None:
            features = reorder_columns(own, names.tolist(), who, "the fit")
        rows = check_table(self, features, who, reset=False)
        Data.of(rows, client=who, names=names, missing=True)  # refuses infinite values
        changed = function(rows.astype(np.float64))
        if owner is None or own is X:
            return changed
        return with_owners(X, owner, changed, self.get_feature_names_out()[:-1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def without_owner(owner: str | None, names: Any) -> tuple[Any, list[str]]:
    """Names of features without the column of owners, and that column, if it is kept."""
    if owner is None:
        return names, []
    return (None if names is None else [name for name in names if name != owner]), [owner]
