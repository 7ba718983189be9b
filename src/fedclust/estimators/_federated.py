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
from ..channels import LocalChannel
from ..clustering.rows import Clustering, Init, cluster
from ..core import (
    AnyAlgorithm,
    ClientSampling,
    ConfigError,
    Data,
    DataError,
    Schema,
    checks,
    did_you_mean,
)
from ..data.client_tables import column, rows_by_owner, tables_by_client
from ..data.values import no_dates_or_words
from ..kernels import nearest, sq_distances
from ..privacy import Privacy, Tier, tier_of
from ..protection import refused_limits, with_rounds
from ..typing import FloatArray, IntArray

TABLE: dict[str, Any] = {
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
        checks.integer(self, "n_clusters")
        checks.integer(self, "n_init")
        checks.number(self, "sampling", 0.0, 1.0, above=True)
        checks.integer(self, "min_clients")
        tables = tables_by_client(X, clients, sample_weight)
        if tables is None:
            owners, all_rows = self._split(X, clients, sample_weight)
        else:
            owners, all_rows = self._separate(tables)
        self._enough(owners, all_rows)
        found = cluster(
            self._algorithm(),
            LocalChannel(owners),
            self._schema(),
            init=self.init,
            n_init=self.n_init,
            privacy=self._tier(),
            sampling=ClientSampling(self.sampling, self.min_clients),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        self._learn(found, all_rows)
        if found.caveat:
            warnings.warn(found.caveat, UserWarning, stacklevel=2)
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
            raise DataError("X: give one table at a time; every client has its rows to itself")
        no_dates_or_words(X, "X")
        rows = validate_data(self, X, reset=False, **TABLE)
        return Data.of(rows, client="X", names=getattr(self, "feature_names_in_", None)).X

    def _split(
        self, X: Any, clients: Any, sample_weight: Any
    ) -> tuple[dict[str, Data], list[FloatArray]]:
        """One table and the owner of each row."""
        no_dates_or_words(X, "X")
        rows = validate_data(self, X, **TABLE)
        weight = column("sample_weight", sample_weight, len(rows))
        names = getattr(self, "feature_names_in_", None)
        whole = Data.of(rows, weight, client="X", names=names)  # so that errors name rows of X
        if clients is None:
            return {"0": whole}, [rows]
        groups = rows_by_owner(column("clients", clients, len(rows)))
        owners = {
            name: Data.of(rows[group], None if weight is None else weight[group])
            for name, group in groups.items()
        }
        return owners, [rows]

    def _separate(
        self, tables: dict[str, tuple[Any, Any]]
    ) -> tuple[dict[str, Data], list[FloatArray]]:
        """One table per client: the same columns in each."""
        owners: dict[str, Data] = {}
        all_rows = []
        for name, (table, weight) in tables.items():
            client = f"client {name!r}"
            no_dates_or_words(table, client)
            try:
                rows = validate_data(self, table, reset=not owners, ensure_min_samples=0, **TABLE)
            except (TypeError, ValueError) as problem:
                raise DataError(f"{client}: {' '.join(str(problem).split())}") from None
            columns = getattr(self, "feature_names_in_", None)
            owners[name] = Data.of(rows, weight, client=client, names=columns)
            all_rows.append(rows)
        return owners, all_rows

    def _enough(self, owners: dict[str, Data], all_rows: list[FloatArray]) -> None:
        n_samples = sum(len(data) for data in owners.values())
        if n_samples == 0 and any(len(X) for X in all_rows):
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

    def _algorithm(self) -> AnyAlgorithm:
        fits = ["lossless", *(k for k, kind in ALGORITHMS.items() if kind.soft == self._soft)]
        algorithm = self.algorithm
        if isinstance(algorithm, str) and algorithm in fits:
            key = self._lossless if algorithm == "lossless" else algorithm
            return self._configured(make(key, self.n_clusters))
        key = getattr(algorithm, "key", str(algorithm))
        if key not in fits or isinstance(algorithm, str):
            raise ConfigError(
                f"algorithm: {key!r} is not for {type(self).__name__}; it takes {', '.join(fits)}"
                f"{did_you_mean(key, fits)}"
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
        if algorithm is self.algorithm:
            for name in ("n_clusters", "fuzzifier") if self._soft else ("n_clusters",):
                wanted, given = getattr(self, name), getattr(algorithm, name)
                if wanted != given:
                    raise ConfigError(
                        f"{name}={wanted}, but the algorithm given has {name}={given}; give both "
                        "the same"
                    )
        return cast(AnyAlgorithm, replace(cast(Any, algorithm), **changes))

    def _tier(self) -> Tier:
        """The tier, with the estimator's rounds; those that it would cut are refused."""
        tier, algorithm = tier_of(self.privacy), self._algorithm()
        for _, words in refused_limits(tier, algorithm, self.max_rounds, self.tol):
            raise ConfigError(words)
        return with_rounds(tier, self.max_rounds)

    def _learn(self, found: Clustering, all_rows: list[FloatArray]) -> None:
        self.algorithm_ = found.algorithm
        self.cluster_centers_ = found.centers
        self.labels_ = np.concatenate([nearest(X, found.centers)[0] for X in all_rows])
        self.inertia_ = found.inertia
        self.n_rounds_ = found.run.n_rounds
        self.converged_ = found.converged
        self.history_ = [asdict(line) for line in found.run.history]
        self.bytes_sent_ = dict(found.sent)
        self.promise_ = found.guarantee
        self._n_features_out = self.n_clusters

    def _warn(self) -> None:
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f"only {distinct} of n_clusters={self.n_clusters} clusters have any rows; "
                "choose fewer, or another start",
                ConvergenceWarning,
                stacklevel=3,
            )
        # Whoever set the number of rounds wanted that number.
        unasked = self.max_rounds is None and isinstance(self.algorithm, str)
        if unasked and self.sampling == 1 and not self.converged_:
            most = tier_of(self.privacy).most_rounds(self.algorithm_)
            cut = most is not None and self.n_rounds_ >= most
            mend = "raise max_rounds, or tol"
            if cut:
                mend = f"privacy={self.promise_.tier!r} allows no more; raise tol"
            warnings.warn(
                f"{self.algorithm_.key} still moved after {self.n_rounds_} rounds; {mend}",
                ConvergenceWarning,
                stacklevel=3,
            )
