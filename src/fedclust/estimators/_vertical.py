"""Base class of the estimators over split columns."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..channels import LocalChannel
from ..clustering.alignment import Alignment, align_tables
from ..clustering.columns import (
    AnyRecordAlgorithm,
    ColumnClustering,
    Start,
    cluster_columns,
    compute_distances,
)
from ..core import ConfigError, Data, DataError, Schema, checks
from ..data.client_tables import tables_by_client
from ..data.owner_tables import Table, check_tables, reorder_as_fitted, split_columns
from ..data.values import is_one_dimensional
from ..kernels.columns import nearest_of
from ..tiers.columns import TRUST
from ..typing import FloatArray, IntArray
from ._parameters import KnownParameters, count_starts, draw_seed
from ._progress import FitRound, Progress, noted_compilation, warn_of_end
from ._rows import check_table, refuse_fewer_than


class Vertical(KnownParameters, ClusterMixin, BaseEstimator):
    """Base class: assigns columns to owners, runs the federation, labels the records."""

    _kind: ClassVar[type[AnyRecordAlgorithm]]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Start = "k-means++",
        n_init: int | str = 1,
        max_rounds: int | None = None,
        tol: float | None = None,
        message_dtype: str = "float64",
        verbose: int = 0,
        callback: Callable[[FitRound], object] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_rounds = max_rounds
        self.tol = tol
        self.message_dtype = message_dtype
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, owners: Any = None) -> Self:
        """Cluster records whose columns are split between owners.

        Parameters
        ----------
        X : list of tables, or dict of owner to table, or one table
            Tables must have the same records in the same order; use `fit_frames` to align them by
            an id column. One table needs ``owners``; without it, one owner has all columns.
        y : ignored
        owners : list of names, or dict of name to columns, optional
            The owner of each column, if X is one table.

        Returns
        -------
        self
        """
        tables = self._by_owner(X, owners, reset=True)
        self._owners = owners
        rows = {owner: np.arange(len(table.X)) for owner, table in tables.items()}
        return self._fit(tables, Alignment(rows, {o: len(t.X) for o, t in tables.items()}))

    def fit_frames(
        self,
        frames: Mapping[str, Any],
        id: str | Mapping[str, str],
        *,
        secret: str | bytes | None = None,
        alignment: str = "hash",
        ids: str = "auto",
        min_overlap: float = 0.1,
    ) -> Self:
        """Align the records that all owners share by their ids, and cluster them.

        Parameters
        ----------
        frames : dict of owner to data frame, or to a dict of column to values
            One row per record, in any order; one column is the id, all others are features.
        id : str, or dict of owner to str
            The name of the id column.
        secret : str or bytes of at least 16 characters, optional
            A secret that the owners share and the server does not know. It is not needed in one
            process, where there is no separate server.
        alignment : {"hash", "psi"}, default="hash"
            Keyed hashes, or private set intersection (needs ``fedclust[psi]``).
        ids : {"auto", "number"}, default="auto"
            How ids are compared: as text without surrounding spaces, or as integers.
        min_overlap : float, default=0.1
            Minimum share of the smallest owner's rows that all owners must have.

        Returns
        -------
        self
        """
        if not isinstance(self.init, str):
            raise ConfigError(
                "init: record numbers are unknown before alignment; use a name such as 'k-means++' "
                "with fit_frames"
            )
        aligned, tables = align_tables(
            frames, id, secret=secret, method=alignment, ids=ids, min_overlap=min_overlap
        )
        self._owners = None
        self._forget_features()
        return self._fit(tables, aligned)

    def predict(self, X: Any, owners: Any = None) -> IntArray:
        """Cluster of each new record, by one round in which every owner must answer.

        Parameters
        ----------
        X : as in `fit`, the same owners with the same columns
        owners : as in `fit`

        Returns
        -------
        labels : array of shape (n_records,)
        """
        return nearest_of(self._distances(self._new_records(X, owners)))

    def predict_frames(
        self,
        frames: Mapping[str, Any],
        id: str | Mapping[str, str],
        *,
        secret: str | bytes | None = None,
        alignment: str = "hash",
        ids: str = "auto",
        min_overlap: float = 0.1,
    ) -> dict[str, IntArray]:
        """Cluster of each new record that all owners share, for each owner in its own row order.

        Parameters
        ----------
        frames, id, secret, alignment, ids, min_overlap
            As in `fit_frames`.

        Returns
        -------
        labels : dict of owner to array
            One label per row of the owner's table; -1 for records that not all owners have.
        """
        check_is_fitted(self)
        aligned, tables = align_tables(
            frames, id, secret=secret, method=alignment, ids=ids, min_overlap=min_overlap
        )
        labels = nearest_of(self._distances(reorder_as_fitted(tables, self._columns)))
        return {owner: aligned.in_row_order(owner, labels, -1) for owner in tables}

    def centers_of(self, owner: Any) -> FloatArray:
        """The owner's part of the centres: its columns of all clusters.

        Parameters
        ----------
        owner : str

        Returns
        -------
        centers : array of shape (n_clusters, columns of the owner)
        """
        check_is_fitted(self)
        return self._parts[self._owner(owner)]

    def labels_of(self, owner: Any) -> IntArray:
        """Cluster of each row of an owner's table, in its own order; -1 for unmatched rows.

        Parameters
        ----------
        owner : str

        Returns
        -------
        labels : array of shape (rows of the owner,)
        """
        check_is_fitted(self)
        return self.alignment_.in_row_order(self._owner(owner), self.labels_, -1)

    @property
    def cluster_centers_(self) -> FloatArray:
        """Always raises: no party has the full centres; see `centers_of`."""
        raise AttributeError(
            "no party has the full centres; use centers_of(owner) for the part of one owner"
        )

    def _fit(self, tables: dict[str, Table], aligned: Alignment) -> Self:
        checks.integer(self, "n_clusters")
        refuse_fewer_than(self.n_clusters, aligned.n_records)
        data = {owner: Data(table.X, np.empty(0)) for owner, table in tables.items()}
        self.n_features_in_ = sum(table.X.shape[1] for table in tables.values())
        self.owners_ = tuple(tables)
        self.alignment_ = aligned
        self._columns = {o: (t.X.shape[1], t.names) for o, t in tables.items()}
        progress = Progress(self)
        with noted_compilation():  # the result is unnamed, so that it can be freed early
            self._set_results(self._cluster(data, aligned.n_records, progress), data)
        progress.end(self.n_rounds_, converged=self.converged_)
        self._warn()
        return self

    def _cluster(
        self, data: dict[str, Data], n_records: int, progress: Progress
    ) -> ColumnClustering:
        return cluster_columns(
            self._kind(self.n_clusters, **self._settings()),
            LocalChannel(data),
            Schema(self.n_features_in_, n_records=n_records),
            init=self.init,
            n_init=count_starts(self),
            seed=draw_seed(self.random_state),
            runner=progress.run,
        )

    def _set_results(self, best: ColumnClustering, data: dict[str, Data]) -> None:
        given = not isinstance(self.init, str)  # then its order numbers the clusters
        order = np.arange(self.n_clusters) if given else best.order
        self.algorithm_ = _reorder_start(best.algorithm, order)
        self.trust_ = TRUST
        self._parts = {
            o: best.algorithm.local_centers(best.last, d.X)[order] for o, d in data.items()
        }
        self.n_rounds_ = len(best.history)
        self.converged_ = best.converged
        self.history_ = [asdict(line) for line in best.history]
        sent = best.sent
        del best  # free it: it has n_records x n_clusters numbers
        d2, done = compute_distances(
            self._parts, {o: d.X for o, d in data.items()}, self.algorithm_.message_dtype
        )
        self.bytes_sent_ = {owner: sent[owner] + done.sent[owner] for owner in data}
        self._assign(d2)
        self.inertia_ = float(d2.min(axis=1).sum())

    def _assign(self, d2: FloatArray) -> None:
        self.labels_ = nearest_of(d2)

    def _settings(self) -> dict[str, Any]:
        names = {f.name for f in fields(self._kind)} - {"n_clusters", "init"}
        return {n: getattr(self, n) for n in names if getattr(self, n, None) is not None}

    def _by_owner(self, X: Any, owners: Any, *, reset: bool) -> dict[str, Table]:
        if isinstance(X, list | tuple) and X and all(is_one_dimensional(one) for one in X):
            raise DataError(
                "X: expected a table per owner, got single columns; use frame[['income']]"
            )
        several = tables_by_client(X)
        if several is None:
            rows = check_table(self, X, reset=reset)
            names = getattr(self, "feature_names_in_", None)
            return check_tables(
                split_columns(Data.of(rows, client="X", names=names).X, owners, names)
            )
        if owners is not None and reset:
            raise ConfigError("owners: not allowed with several tables; each table is one owner")
        if reset:
            self._forget_features()
        return check_tables({name: table for name, (table, _) in several.items()})

    def _forget_features(self) -> None:
        """Remove the feature names of an earlier fit on one table."""
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _new_records(self, X: Any, owners: Any) -> dict[str, FloatArray]:
        check_is_fitted(self)
        tables = self._by_owner(X, self._owners if owners is None else owners, reset=False)
        return reorder_as_fitted(tables, self._columns)

    def _distances(self, tables: dict[str, FloatArray]) -> FloatArray:
        return compute_distances(self._parts, tables, self.algorithm_.message_dtype)[0]

    def _owner(self, owner: Any) -> str:
        if str(owner) not in self._parts:
            raise ConfigError(f"unknown owner {owner!r}; known owners: {', '.join(self._parts)}")
        return str(owner)

    def _warn(self) -> None:
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f"only {distinct} of n_clusters={self.n_clusters} clusters have any records; "
                "reduce n_clusters, or change init or random_state",
                ConvergenceWarning,
                stacklevel=4,
            )
        if not self.converged_:
            remedy = "increase max_rounds or tol"
            warn_of_end(self.algorithm_.key, self.n_rounds_, remedy, stacklevel=5)


def _reorder_start(algorithm: AnyRecordAlgorithm, order: IntArray) -> AnyRecordAlgorithm:
    """The algorithm with its start in the order of the clusters' numbers."""
    start = algorithm.init
    if start is None:
        return algorithm
    per_cluster = len(start) == len(order)  # a record per cluster, or else a cluster per record
    return replace(algorithm, init=start[order] if per_cluster else np.argsort(order)[start])
