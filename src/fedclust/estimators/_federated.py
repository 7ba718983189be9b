"""Base class of the estimators over split rows."""

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

from ..algorithms import ALGORITHMS, SEEDINGS, make
from ..channels import LocalChannel
from ..clustering.rows import Clustering, Init, cluster
from ..core import (
    Algorithm,
    AnyAlgorithm,
    ClientSampling,
    ConfigError,
    Data,
    DataError,
    Schema,
    checks,
    did_you_mean,
)
from ..data.client_tables import as_column, rows_by_owner, tables_by_client
from ..data.values import refuse_non_numeric
from ..kernels import nearest, sq_distances
from ..tiers import Privacy, Tier, tier_of
from ..typing import FloatArray, IntArray

TABLE: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    "order": "C",
    "ensure_all_finite": False,  # Data.of checks, and names client and column
}


class Federated(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base class: splits rows by client, runs the federation, labels the rows."""

    _lossless: ClassVar[str]
    _soft: ClassVar[bool]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        algorithm: str | AnyAlgorithm | type[AnyAlgorithm] = "lossless",
        init: Init = "auto",
        n_init: int = 1,
        max_rounds: int | None = None,
        tol: float | None = None,
        sampling: float = 1.0,
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
        self.sampling = sampling
        self.min_clients = min_clients
        self.privacy = privacy
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, clients: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of all clients.

        Parameters
        ----------
        X : table, or list of tables, or dict of name to table
            One table, with ``clients`` for the owner of each row, or one table per client. One
            table without ``clients`` belongs to a single client: the pooled case.
        y : ignored
        clients : array-like of shape (n_samples,), optional
            The owner of each row.
        sample_weight : array-like of shape (n_samples,), or a list or dict of such, optional
            Weight of each row. Rows of weight zero are ignored.

        Returns
        -------
        self
        """
        checks.integer(self, "n_clusters")
        checks.integer(self, "n_init")
        checks.number(self, "sampling", 0.0, 1.0, above=True)
        checks.integer(self, "min_clients")
        tables = tables_by_client(X, clients, sample_weight)
        if tables is None:
            owners, all_rows = self._split(X, clients, sample_weight)
        else:
            owners, all_rows = self._check_tables(tables)
        self._check_size(owners, all_rows)
        clustering = cluster(
            self._algorithm(),
            LocalChannel(owners),
            self._schema(),
            init=self.init,
            n_init=self.n_init,
            privacy=self._tier(),
            sampling=ClientSampling(self.sampling, self.min_clients),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        self._set_results(clustering, all_rows)
        if clustering.caveat:
            warnings.warn(clustering.caveat, UserWarning, stacklevel=2)
        self._warn()
        return self

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
        if tables_by_client(X) is not None:
            raise DataError("X: expected one table, got several; pass one client's table at a time")
        refuse_non_numeric(X, "X")
        rows = validate_data(self, X, reset=False, **TABLE)
        return Data.of(rows, client="X", names=getattr(self, "feature_names_in_", None)).X

    def _split(
        self, X: Any, clients: Any, sample_weight: Any
    ) -> tuple[dict[str, Data], list[FloatArray]]:
        """Split one table by the owner of each row."""
        refuse_non_numeric(X, "X")
        rows = validate_data(self, X, **TABLE)
        weight = as_column("sample_weight", sample_weight, len(rows))
        names = getattr(self, "feature_names_in_", None)
        checked = Data.of(rows, weight, client="X", names=names)  # so that errors name rows of X
        if clients is None:
            return {"0": checked}, [rows]
        groups = rows_by_owner(as_column("clients", clients, len(rows)))
        owners = {
            name: Data.of(rows[group], None if weight is None else weight[group])
            for name, group in groups.items()
        }
        return owners, [rows]

    def _check_tables(
        self, tables: dict[str, tuple[Any, Any]]
    ) -> tuple[dict[str, Data], list[FloatArray]]:
        """Check one table per client, with the same columns in each."""
        owners: dict[str, Data] = {}
        all_rows = []
        for name, (table, weight) in tables.items():
            client = f"client {name!r}"
            refuse_non_numeric(table, client)
            try:
                rows = validate_data(self, table, reset=not owners, ensure_min_samples=0, **TABLE)
            except (TypeError, ValueError) as problem:
                raise DataError(f"{client}: {' '.join(str(problem).split())}") from None
            columns = getattr(self, "feature_names_in_", None)
            owners[name] = Data.of(rows, weight, client=client, names=columns)
            all_rows.append(rows)
        return owners, all_rows

    def _check_size(self, owners: dict[str, Data], all_rows: list[FloatArray]) -> None:
        n_samples = sum(len(data) for data in owners.values())
        if n_samples == 0 and any(len(X) for X in all_rows):
            raise DataError("sample_weight: all weights are zero, so there are no rows to cluster")
        if n_samples < max(2, self.n_clusters):
            raise DataError(
                f"n_samples={n_samples} must be at least n_clusters={self.n_clusters}, and at "
                "least 2: the centre of a single row would be that row"
            )

    def _schema(self) -> Schema:
        F = self.n_features_in_
        if self.bounds is None:
            return Schema(F)
        try:
            low, high = (np.broadcast_to(np.asarray(b, dtype=float), (F,)) for b in self.bounds)
        except (TypeError, ValueError):
            raise ConfigError(f"bounds must be (low, high), each a number or {F} numbers") from None
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
            raise ConfigError(
                "bounds: low and high must be finite, and low below high, in every column"
            )
        return Schema(F, low=low, high=high)

    def _algorithm(self) -> AnyAlgorithm:
        """The algorithm of a key, of a class, or the one given, with the estimator's parameters."""
        algorithm = self.algorithm
        if isinstance(algorithm, str):
            return self._configure(self._by_key(algorithm))
        if isinstance(algorithm, type) and issubclass(algorithm, Algorithm):
            algorithm = cast(Any, algorithm)(self.n_clusters)
        if not _clusters_rows(algorithm) or algorithm.soft != self._soft:
            raise self._unsupported(algorithm)
        return self._configure(algorithm)

    def _by_key(self, key: str) -> AnyAlgorithm:
        if key == "lossless":
            return make(self._lossless, self.n_clusters)
        if key not in ALGORITHMS or ALGORITHMS[key].traits.soft != self._soft:
            raise self._unsupported(key)
        return make(key, self.n_clusters)

    def _unsupported(self, algorithm: Any) -> ConfigError:
        key, soft = getattr(algorithm, "key", str(algorithm)), self._soft
        supported = ["lossless", *(k for k, kind in ALGORITHMS.items() if kind.traits.soft == soft)]
        return ConfigError(
            f"algorithm: {type(self).__name__} does not support {key!r}; use one of "
            f"{', '.join(supported)}{did_you_mean(key, supported)}"
        )

    def _configure(self, algorithm: AnyAlgorithm) -> AnyAlgorithm:
        """Apply the estimator's parameters to the algorithm; refuse those it does not have."""
        known = {f.name for f in fields(cast(Any, algorithm))}
        changes: dict[str, Any] = {}
        for name in ("max_rounds", "tol", "fuzzifier"):
            value = getattr(self, name, None)
            if value is not None and name not in known:
                raise ConfigError(f"{name}={value!r}: {algorithm.key!r} has no parameter {name}")
            if value is not None:
                changes[name] = value
        if algorithm is self.algorithm:
            for name in ("n_clusters", "fuzzifier") if self._soft else ("n_clusters",):
                wanted, given = getattr(self, name), getattr(algorithm, name)
                if wanted != given:
                    raise ConfigError(
                        f"{name}={wanted}, but the algorithm has {name}={given}; they must be equal"
                    )
        return cast(AnyAlgorithm, replace(cast(Any, algorithm), **changes))

    def _tier(self) -> Tier:
        """The tier with the estimator's limit of rounds; refuse limits that it does not allow."""
        tier, algorithm = tier_of(self.privacy), self._algorithm()
        for _, reason in tier.refused_limits(algorithm, self.max_rounds, self.tol):
            raise ConfigError(reason)
        return tier.with_rounds(self.max_rounds)

    def _set_results(self, clustering: Clustering, all_rows: list[FloatArray]) -> None:
        self.algorithm_ = clustering.algorithm
        self.cluster_centers_ = clustering.centers
        self.labels_ = np.concatenate([nearest(X, clustering.centers)[0] for X in all_rows])
        self.inertia_ = clustering.inertia
        self.n_rounds_ = clustering.run.n_rounds
        self.converged_ = clustering.converged
        self.history_ = [asdict(line) for line in clustering.run.history]
        self.bytes_sent_ = dict(clustering.sent)
        self.guarantee_ = clustering.guarantee
        self._n_features_out = self.n_clusters

    def _warn(self) -> None:
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f"only {distinct} of n_clusters={self.n_clusters} clusters have any rows; "
                "reduce n_clusters, or change init or random_state",
                ConvergenceWarning,
                stacklevel=3,
            )
        # A user who sets the number of rounds expects the run to end there: no warning then.
        default_rounds = self.max_rounds is None and isinstance(self.algorithm, str)
        if default_rounds and self.sampling == 1 and not self.converged_:
            most = tier_of(self.privacy).most_rounds(self.algorithm_)
            limited = most is not None and self.n_rounds_ >= most
            remedy = "increase max_rounds or tol"
            if limited:
                remedy = f"privacy={self.guarantee_.tier!r} allows no more rounds; increase tol"
            warnings.warn(
                f"{self.algorithm_.key} did not converge in {self.n_rounds_} rounds; {remedy}",
                ConvergenceWarning,
                stacklevel=3,
            )


def _clusters_rows(algorithm: Any) -> bool:
    """Whether it finds clusters of rows: not a seeding, a statistic, or for split columns."""
    if not isinstance(algorithm, Algorithm) or algorithm.partition != "horizontal":
        return False
    kind = type(algorithm)
    seeding = SEEDINGS.get(kind.key) is kind and ALGORITHMS.get(kind.key) is not kind
    return kind.assign is not Algorithm.assign and not seeding
