"""What both estimators share: rows to clients, a federation in this process, centres to labels."""

import warnings
from dataclasses import asdict, fields, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..algorithms import ALGORITHMS, make
from ..chain import Clustering, Init, Privacy, cluster
from ..channels import LocalChannel
from ..core import AnyAlgorithm, ConfigError, Data, DataError, Participation, Schema, checks
from ..data.tables import column, rows_by_owner, tables_by_client
from ..kernels import nearest, sq_distances
from ..typing import FloatArray, IntArray

_TABLE: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    "order": "C",
    "ensure_all_finite": False,  # Data.of looks, and names client and column
}


class Federated(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """What both estimators share."""

    _lossless: ClassVar[str]
    _soft: ClassVar[bool]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        algorithm: str | AnyAlgorithm = "lossless",
        init: Init = "auto",
        n_init: int = 1,
        max_rounds: int | None = None,
        tol: float | None = None,
        participation: float = 1.0,
        min_clients: int = 1,
        privacy: Privacy = "none",
        bounds: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.init = init
        self.n_init = n_init
        self.max_rounds = max_rounds
        self.tol = tol
        self.participation = participation
        self.min_clients = min_clients
        self.privacy = privacy
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, clients: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of all clients' rows together.

        Parameters
        ----------
        X : table, or list of tables, or dict of name to table
            One table with ``clients`` naming the owner of each row (without it, one client owns
            all: the pooled case), or one table per client.
        y : ignored
        clients : array-like of shape (n_samples,), optional
            The owner of each row.
        sample_weight : array-like of shape (n_samples,), or a list or dict of such, optional
            How often each row counts. A row of weight zero is not there.

        Returns
        -------
        self
        """
        checks.whole(self, "n_clusters")
        checks.whole(self, "n_init")
        tables = tables_by_client(X, clients, sample_weight)
        if tables is None:
            owners = self._split(X, clients, sample_weight)
        else:
            owners = self._separate(tables)
        self._enough(owners)
        found = cluster(
            self._algorithm(),
            LocalChannel(owners),
            self._schema(),
            init=self._init(),
            n_init=self.n_init,
            privacy=self.privacy,
            participation=Participation(self.participation, self.min_clients),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        return self._learn(found)

    def predict(self, X: Any) -> IntArray:
        """Nearest centre of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        return nearest(self._rows(X), self.cluster_centers_)[0]

    def transform(self, X: Any) -> FloatArray:
        """Distance of each row to each centre.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        distances : array of shape (n_samples, n_clusters)
        """
        return np.sqrt(sq_distances(self._rows(X), self.cluster_centers_))

    def _rows(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, **_TABLE)
        return Data.of(rows, client="X", names=getattr(self, "feature_names_in_", None)).X

    def _split(self, X: Any, clients: Any, sample_weight: Any) -> dict[str, Data]:
        """One table and the owner of each row."""
        rows = validate_data(self, X, **_TABLE)
        weight = column("sample_weight", sample_weight, len(rows))
        names = getattr(self, "feature_names_in_", None)
        self._all_rows = [rows]
        if clients is None:
            return {"0": Data.of(rows, weight, client="X", names=names)}
        return {
            name: Data.of(
                rows[group],
                None if weight is None else weight[group],
                client=f"client {name!r}",
                names=names,
            )
            for name, group in rows_by_owner(column("clients", clients, len(rows))).items()
        }

    def _separate(self, tables: dict[str, tuple[Any, Any]]) -> dict[str, Data]:
        """One table per client: the same columns in each."""
        owners: dict[str, Data] = {}
        self._all_rows = []
        for name, (table, weight) in tables.items():
            try:
                rows = validate_data(self, table, reset=not owners, ensure_min_samples=0, **_TABLE)
            except ValueError as problem:
                raise DataError(f"client {name!r}: {problem}") from None
            columns = getattr(self, "feature_names_in_", None)
            owners[name] = Data.of(rows, weight, client=f"client {name!r}", names=columns)
            self._all_rows.append(rows)
        return owners

    def _enough(self, owners: dict[str, Data]) -> None:
        n_samples = sum(len(data) for data in owners.values())
        if n_samples == 0 and any(len(X) for X in self._all_rows):
            raise DataError("sample_weight: every weight is zero, so there is nothing to cluster")
        if n_samples < max(2, self.n_clusters):
            raise DataError(
                f"n_samples={n_samples} should be >= n_clusters={self.n_clusters}, and more than "
                "one: the centre of a single row would be that row"
            )

    def _schema(self) -> Schema:
        F = self.n_features_in_
        if self.bounds is None:
            return Schema(F)
        try:
            low, high = (np.broadcast_to(np.asarray(b, dtype=float), (F,)) for b in self.bounds)
        except (TypeError, ValueError):
            raise ConfigError(f"bounds must be (low, high), each a number or {F} of them") from None
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
            raise ConfigError("bounds: low must be below high, and both finite, in every column")
        return Schema(F, low=low, high=high)

    def _init(self) -> Init:
        if isinstance(self.init, str) or hasattr(self.init, "client_step"):
            return self.init
        return np.asarray(self.init, dtype=np.float64)

    def _algorithm(self) -> AnyAlgorithm:
        if isinstance(self.algorithm, str):
            key = self._lossless if self.algorithm == "lossless" else self.algorithm
            algorithm = make(key, self.n_clusters)
        else:
            algorithm = self.algorithm
        if algorithm.soft != self._soft:
            fits = ", ".join(k for k, kind in ALGORITHMS.items() if kind.soft == self._soft)
            raise ConfigError(
                f"algorithm: {algorithm.key!r} is not for {type(self).__name__}; it takes "
                f"'lossless', {fits}"
            )
        return self._configured(algorithm)

    def _configured(self, algorithm: AnyAlgorithm) -> AnyAlgorithm:
        """The estimator's parameters in the algorithm; none is taken and ignored."""
        known = {f.name for f in fields(cast(Any, algorithm))}
        changes: dict[str, Any] = {}
        for name in ("max_rounds", "tol", "fuzzifier"):
            value = getattr(self, name, None)
            if value is not None and name not in known:
                raise ConfigError(f"{name}={value!r} has no meaning for {algorithm.key!r}")
            if value is not None:
                changes[name] = value
        if algorithm.n_clusters != self.n_clusters:
            raise ConfigError(
                f"n_clusters={self.n_clusters}, but the algorithm given has "
                f"n_clusters={algorithm.n_clusters}"
            )
        return cast(AnyAlgorithm, replace(cast(Any, algorithm), **changes))

    def _learn(self, found: Clustering) -> Self:
        self.algorithm_ = found.algorithm
        self.cluster_centers_ = found.centers
        self.labels_ = np.concatenate([nearest(X, found.centers)[0] for X in self._all_rows])
        del self._all_rows
        self.inertia_ = found.inertia
        self.n_rounds_ = found.run.n_rounds
        self.history_ = [asdict(line) for line in found.run.history]
        self.bytes_sent_ = dict(found.sent)
        self._n_features_out = self.n_clusters
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f"only {distinct} of n_clusters={self.n_clusters} clusters have any rows; "
                "choose fewer, or another start",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self
