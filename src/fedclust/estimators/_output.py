"""Transforming one table, or each of several, into what ``set_output`` asks for."""

from copy import copy
from typing import Any

from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from ._tables import column_names, frame_like, map_tables


class TransformsTables:
    """Transforms each table on its own; scikit-learn's mixin, which comes after, knows only one."""

    def fit_transform(self, X: Any, y: Any = None, **parameters: Any) -> Any:
        """Fit, and transform the same rows.

        Parameters
        ----------
        X : table, or list of tables, or dict of name to table
        y : ignored
        **parameters
            Those of `fit`, such as ``clients``.

        Returns
        -------
        rows : as from `transform`
        """
        fitted: Any = self
        return fitted.fit(X, y, **parameters).transform(X)

    def transform(self, X: Any) -> Any:
        """Transform the rows of one table, or of each of several.

        Parameters
        ----------
        X : table, or list of tables, or dict of name to table

        Returns
        -------
        rows : array, or a list or dict of arrays
            Data frames after ``set_output(transform="pandas")``, or if X has the column of owners.
        """
        check_is_fitted(self)
        return map_tables(self._transform_in_container, X)

    def _transform(self, X: Any, client: str | None) -> Any:
        """The transformed rows of one table."""
        raise NotImplementedError

    def _transform_in_container(self, X: Any, client: str | None) -> Any:
        return _wrap_data_with_container("transform", self._transform(X, client), X, self)


class KeepsOwners(TransformsTables):
    """Keeps the column of owners of the fit; new rows need not have it."""

    def _transform_in_container(self, X: Any, client: str | None) -> Any:
        fitted: Any = self
        names, owner = column_names(X), fitted._owner_column
        if names is None or owner is None or owner in names:
            return super()._transform_in_container(X, client)
        plain = copy(fitted)
        plain._owner_column = None
        changed = frame_like(X, plain._transform(X, client), plain.get_feature_names_out())
        return _wrap_data_with_container("transform", changed, X, plain)
