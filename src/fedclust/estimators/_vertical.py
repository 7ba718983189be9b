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

from ..alignment import Alignment, aligned_tables
from ..channels import LocalChannel
from ..core import ConfigError, Data, DataError, Schema, checks
from ..data.columns import cut, same_records
from ..data.tables import no_dates_or_words, tables_by_client
from ..kernels.columns import nearest_of
from ..typing import FloatArray, IntArray
from ..vertical import TRUST, AnyRecordAlgorithm, Start, cluster_columns, distances_to
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
        wire: str = "float64",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_rounds = max_rounds
        self.tol = tol
        self.wire = wire
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
        rows = {owner: np.arange(len(data)) for owner, data in tables.items()}
        return self._fit(tables, Alignment(rows, {o: len(d) for o, d in tables.items()}))

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
        ids : {"auto", "text", "number"}, default="auto"
            How ids are compared: as written but for spaces around them, or as whole numbers.
        min_overlap : float, default=0.1
            Share of the smallest owner's rows that must be shared by all.

        Returns
        -------
        self
        """
        found, tables = aligned_tables(
            frames, id, secret=secret, method=alignment, ids=ids, min_overlap=min_overlap
        )
        self._owners = None
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
        labels = nearest_of(self._distances(self._known(tables)))
        return {owner: found.at_home(owner, labels, -1) for owner in tables}

    def centers_of(self, owner: str) -> FloatArray:
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

    def labels_of(self, owner: str) -> IntArray:
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

    def _fit(self, tables: dict[str, Data], found: Alignment) -> Self:
        checks.whole(self, "n_clusters")
        checks.whole(self, "n_init")
        n = found.n_records
        if n < max(2, self.n_clusters):
            raise DataError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}, and more than one"
            )
        schema = Schema(sum(d.X.shape[1] for d in tables.values()), n_records=n)
        best = cluster_columns(
            self._kind(self.n_clusters, **self._settings()),
            LocalChannel(tables),
            schema,
            init=self.init,
            n_init=self.n_init,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        self.algorithm_ = best.algorithm
        self.n_features_in_ = schema.n_features
        self.owners_ = tuple(tables)
        self.alignment_ = found
        self.trust_ = TRUST
        self._parts = {o: best.algorithm.part(best.last, d.X) for o, d in tables.items()}
        d2, done = distances_to(self._parts, {o: d.X for o, d in tables.items()}, self.wire)
        self._assign(d2)
        self.inertia_ = float(d2.min(axis=1).sum())
        self.n_rounds_ = best.run.n_rounds
        self.converged_ = best.converged
        self.history_ = [asdict(line) for line in best.run.history]
        self.bytes_sent_ = {o: best.sent[o] + done.sent[o] for o in tables}
        self._warn()
        return self

    def _assign(self, d2: FloatArray) -> None:
        self.labels_ = nearest_of(d2)

    def _settings(self) -> dict[str, Any]:
        given = {f.name: getattr(self, f.name, None) for f in fields(self._kind)}
        unset = {"n_clusters", "init"}
        return {n: v for n, v in given.items() if n not in unset and v is not None}

    def _by_owner(self, X: Any, owners: Any, *, reset: bool) -> dict[str, Data]:
        several = tables_by_client(X)
        if several is not None:
            return same_records({name: table for name, (table, _) in several.items()})
        no_dates_or_words(X, "X")
        rows = validate_data(self, X, reset=reset, **TABLE)
        names = getattr(self, "feature_names_in_", None)
        return same_records(cut(Data.of(rows, client="X", names=names).X, owners, names))

    def _new_records(self, X: Any, owners: Any) -> dict[str, FloatArray]:
        check_is_fitted(self)
        return self._known(
            self._by_owner(X, self._owners if owners is None else owners, reset=False)
        )

    def _known(self, tables: dict[str, Data]) -> dict[str, FloatArray]:
        """The tables of new records, once they are those of the owners who took part."""
        if tables.keys() != self._parts.keys():
            absent = sorted(self._parts.keys() - tables.keys())
            odd = sorted(tables.keys() - self._parts.keys())
            raise DataError(
                "every owner is needed, and no other: "
                + "; ".join(
                    f"{what} {', '.join(names)}"
                    for what, names in (("missing", absent), ("unknown", odd))
                    if names
                )
            )
        for owner, data in tables.items():
            wanted, given = self._parts[owner].shape[1], data.X.shape[1]
            if wanted != given:
                raise DataError(f"owner {owner!r}: {given} columns, but it had {wanted} in the fit")
        return {owner: data.X for owner, data in tables.items()}

    def _distances(self, tables: dict[str, FloatArray]) -> FloatArray:
        return distances_to(self._parts, tables, self.wire)[0]

    def _owner(self, owner: str) -> str:
        if owner not in self._parts:
            raise ConfigError(f"no owner {owner!r}; there are {', '.join(self._parts)}")
        return owner

    def _warn(self) -> None:
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f"only {distinct} of n_clusters={self.n_clusters} clusters have any records; "
                "choose fewer, or another start",
                ConvergenceWarning,
                stacklevel=4,
            )
