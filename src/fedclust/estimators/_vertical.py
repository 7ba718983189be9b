"""What both estimators over split columns share: tables to owners, a federation, labels back."""

import warnings
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..channels import LocalChannel
from ..clustering.alignment import Alignment, aligned_tables
from ..clustering.columns import (
    TRUST,
    AnyRecordAlgorithm,
    ColumnClustering,
    Start,
    cluster_columns,
    distances_to,
)
from ..core import ConfigError, Data, DataError, Schema, checks
from ..data.client_tables import tables_by_client
from ..data.owner_tables import Table, cut, like_before, same_records
from ..data.values import is_one_dimensional, no_dates_or_words
from ..kernels.columns import nearest_of
from ..typing import FloatArray, IntArray
from ._federated import TABLE


class Vertical(ClusterMixin, BaseEstimator):
    """What both estimators share."""

    _kind: ClassVar[type[AnyRecordAlgorithm]]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Start = "k-means++",
        n_init: int = 1,
        max_rounds: int | None = None,
        tol: float | None = None,
        message_dtype: str = "float64",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_rounds = max_rounds
        self.tol = tol
        self.message_dtype = message_dtype
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, owners: Any = None) -> Self:
        """Find the clusters of records whose columns are split between owners.

        Parameters
        ----------
        X : list of tables, or dict of owner to table, or one table
            Tables have the same records in the same order; to bring them there by an id column,
            use `fit_frames`. One table goes with ``owners``; without it, one owner has all columns.
        y : ignored
        owners : list of names, or dict of name to columns, optional
            The owner of each column of the one table.

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
        """Find the clusters of the records that all owners have, by their ids.

        Parameters
        ----------
        frames : dict of owner to data frame, or to a dict of column to values
            One row per record, in any order; a column holds its id, all others are features.
        id : str, or dict of owner to str
            The name of the id column.
        secret : str or bytes of at least 16 characters, optional
            What the owners share and the server does not know; not needed in one process,
            where there is nobody to hide from.
        alignment : {"hash", "psi"}, default="hash"
            Keyed hashes, or private set intersection (needs ``fedclust[psi]``).
        ids : {"auto", "number"}, default="auto"
            How ids are compared: as written but for spaces around them, or as whole numbers.
        min_overlap : float, default=0.1
            Share of the smallest owner's rows that must be shared by all.

        Returns
        -------
        self
        """
        if not isinstance(self.init, str):
            raise ConfigError(
                "init: records have no number before they are aligned; give a word to fit_frames"
            )
        found, tables = aligned_tables(
            frames, id, secret=secret, method=alignment, ids=ids, min_overlap=min_overlap
        )
        self._owners = None
        self._forget_features()
        return self._fit(tables, found)

    def predict(self, X: Any, owners: Any = None) -> IntArray:
        """Cluster of each new record: one round, in which every owner has to answer.

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
        """Cluster of each new record that all owners have: to each owner, in its own order.

        Parameters
        ----------
        frames, id, secret, alignment, ids, min_overlap
            As in `fit_frames`.

        Returns
        -------
        labels : dict of owner to array
            One label per row of the owner's table, -1 where a record is not at all owners.
        """
        check_is_fitted(self)
        found, tables = aligned_tables(
            frames, id, secret=secret, method=alignment, ids=ids, min_overlap=min_overlap
        )
        labels = nearest_of(self._distances(like_before(tables, self._columns)))
        return {owner: found.at_home(owner, labels, -1) for owner in tables}

    def centers_of(self, owner: Any) -> FloatArray:
        """The owner's part of the centres: its columns, for all clusters.

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
        """Cluster of each row of an owner's table, in its own order; -1 where it took no part.

        Parameters
        ----------
        owner : str

        Returns
        -------
        labels : array of shape (rows of the owner,)
        """
        check_is_fitted(self)
        return self.alignment_.at_home(self._owner(owner), self.labels_, -1)

    @property
    def cluster_centers_(self) -> FloatArray:
        """Nobody holds whole centres: this raises, and says whom to ask."""
        raise AttributeError(
            "nobody holds whole centres: each owner has its part, centers_of(owner)"
        )

    def _fit(self, tables: dict[str, Table], found: Alignment) -> Self:
        checks.integer(self, "n_clusters")
        checks.integer(self, "n_init")
        n = found.n_records
        if n < max(2, self.n_clusters):
            raise DataError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}, and more than one"
            )
        data = {owner: Data(table.X, np.empty(0)) for owner, table in tables.items()}
        self.n_features_in_ = sum(table.X.shape[1] for table in tables.values())
        self.owners_ = tuple(tables)
        self.alignment_ = found
        self._columns = {o: (t.X.shape[1], t.names) for o, t in tables.items()}
        self._learn(self._cluster(data, n), data)  # not named: it is large, and let go of there
        self._warn()
        return self

    def _cluster(self, data: dict[str, Data], n_records: int) -> ColumnClustering:
        return cluster_columns(
            self._kind(self.n_clusters, **self._settings()),
            LocalChannel(data),
            Schema(self.n_features_in_, n_records=n_records),
            init=self.init,
            n_init=self.n_init,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def _learn(self, best: ColumnClustering, data: dict[str, Data]) -> None:
        self.algorithm_ = best.algorithm
        self.trust_ = TRUST
        self._parts = {o: best.algorithm.part(best.last, d.X) for o, d in data.items()}
        self.n_rounds_ = len(best.history)
        self.converged_ = best.converged
        self.history_ = [asdict(line) for line in best.history]
        sent = best.sent
        del best  # it holds as many numbers as there are records times clusters
        d2, done = distances_to(
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
            raise DataError("X: each owner gives a table; of a single column, frame[['income']]")
        several = tables_by_client(X)
        if several is None:
            no_dates_or_words(X, "X")
            rows = validate_data(self, X, reset=reset, **TABLE)
            names = getattr(self, "feature_names_in_", None)
            return same_records(cut(Data.of(rows, client="X", names=names).X, owners, names))
        if owners is not None and reset:
            raise ConfigError("owners: give one table and the owner of each column, or several")
        if reset:
            self._forget_features()
        return same_records({name: table for name, (table, _) in several.items()})

    def _forget_features(self) -> None:
        """Names of an earlier fit on one table mean nothing for several."""
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _new_records(self, X: Any, owners: Any) -> dict[str, FloatArray]:
        check_is_fitted(self)
        tables = self._by_owner(X, self._owners if owners is None else owners, reset=False)
        return like_before(tables, self._columns)

    def _distances(self, tables: dict[str, FloatArray]) -> FloatArray:
        return distances_to(self._parts, tables, self.algorithm_.message_dtype)[0]

    def _owner(self, owner: Any) -> str:
        if str(owner) not in self._parts:
            raise ConfigError(f"no owner {owner!r}; there are {', '.join(self._parts)}")
        return str(owner)

    def _warn(self) -> None:
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f"only {distinct} of n_clusters={self.n_clusters} clusters have any records; "
                "choose fewer, or another start",
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.max_rounds is None and not self.converged_:
            warnings.warn(
                f"distances still changed after {self.n_rounds_} rounds; raise max_rounds, or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
