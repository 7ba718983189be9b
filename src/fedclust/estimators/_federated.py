"""Base class of the estimators over split rows."""

import warnings
from collections.abc import Callable
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
from sklearn.utils.validation import check_is_fitted

from ..algorithms import make
from ..clustering.numbering import sort_by_size
from ..clustering.rows import Clustering, Init
from ..core import (
    Algorithm,
    AnyAlgorithm,
    ClientSampling,
    ConfigError,
    Data,
    Runner,
    Schema,
    checks,
    did_you_mean,
)
from ..kernels import sq_distances
from ..tiers import Privacy, Tier, tier_of
from ..typing import FloatArray, IntArray
from ._auto import check_clusters, cluster_auto, cluster_given, given_clusters, is_auto
from ._bounds import clip, estimated_bounds, given_bounds, is_estimate
from ._output import TransformsTables
from ._parameters import (
    KnownParameters,
    check_missing,
    clusters_rows,
    count_starts,
    draw_seed,
    reorder_start,
    supported_keys,
    unsupported,
)
from ._progress import FitRound, Progress, noted_compilation, warn_of_end
from ._rows import Rows, check_table, join_tables, label, read_rows
from ._tables import collect, map_tables, reorder_columns, without


class Federated(  # type: ignore[call-arg]  # a parameter of the mixins
    KnownParameters,
    TransformsTables,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # as its own `transform` does that for each table
):
    """Base class: splits rows by client, runs the federation, labels the rows."""

    __metadata_request__fit: ClassVar = {"clients": True}  # a pipeline passes the owners on

    _lossless: ClassVar[str]
    _soft: ClassVar[bool]

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        algorithm: str | AnyAlgorithm | type[AnyAlgorithm] = "lossless",
        init: Init = "auto",
        n_init: int | str = 1,
        max_rounds: int | None = None,
        tol: float | None = None,
        sampling: float = 1.0,
        min_clients: int = 1,
        privacy: Privacy = "none",
        bounds: Any = None,
        missing: str = "refuse",
        warm_start: bool = False,
        device: str = "auto",
        verbose: int = 0,
        callback: Callable[[FitRound], object] | None = None,
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
        self.missing = missing
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, clients: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of all clients.

        Parameters
        ----------
        X : table, or list of tables, or dict of name to table
            One table, with ``clients`` for the owner of each row, or one table per client. One
            table without ``clients`` belongs to a single client: the pooled case. Data frames of
            several clients may have their columns in different orders.
        y : ignored
        clients : array-like of shape (n_samples,), or str, optional
            The owner of each row, or the name of the column of X that has the owners. That column
            is not a feature.
        sample_weight : array-like of shape (n_samples,), or a list or dict of such, optional
            Weight of each row. Rows of weight zero are ignored.

        Returns
        -------
        self
        """
        fewest = check_clusters(self)
        checks.number(self, "sampling", 0.0, 1.0, above=True)
        checks.integer(self, "min_clients")
        check_missing(self)
        n_init, tier, progress = count_starts(self), self._tier(), Progress(self)
        self._owner_column = clients if isinstance(clients, str) else None
        rows = self._encode_all(read_rows(self, self._read(collect(X)), clients, sample_weight))
        rows.refuse_fewer_than(fewest)
        rows, schema = self._find_bounds(rows, self._schema(tier), tier, progress.run)
        data = self._algorithm(), rows.by_client, schema
        earlier = self._earlier_centers(schema.n_features)
        common: dict[str, Any] = {
            "init": self._given_init() if earlier is None else earlier,
            "n_init": n_init if earlier is None else 1,
            "privacy": tier,
            "sampling": ClientSampling(self.sampling, self.min_clients),
            "seed": draw_seed(self.random_state),
            "runner": progress.run,
        }
        with noted_compilation():
            chooses = is_auto(self.n_clusters) and earlier is None
            find = cluster_auto if chooses else cluster_given
            clustering, self.choice_ = find(*data, **common)
            self._set_results(clustering, rows, tier, numbered=earlier is not None)
        progress.end(self.n_rounds_, converged=self.converged_)
        if clustering.caveat:
            warnings.warn(clustering.caveat, UserWarning, stacklevel=2)
        self._warn(tier)
        return self

    def predict(self, X: Any) -> Any:
        """Nearest centre of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table

        Returns
        -------
        labels : array of shape (n_samples,), or a list or dict of such arrays
        """
        return self._map(lambda rows: label(rows, self.cluster_centers_), X)

    def labels_of(self, client: Any) -> IntArray:
        """Cluster of each row of a client, in the order of its rows.

        Parameters
        ----------
        client : str or int
            One of ``clients_``, or the position of a table in a list.

        Returns
        -------
        labels : array of shape (rows of the client,)
        """
        check_is_fitted(self)
        name = str(client)
        if name not in self._places:  # the names of listed tables are padded, such as 01
            name = name.zfill(len(self.clients_[0]))
        if name not in self._places:
            near = did_you_mean(client, self.clients_)
            raise ConfigError(
                f"unknown client {client!r}; known clients: {', '.join(self.clients_)}{near}"
            )
        labels: IntArray = self.labels_[self._places[name]]
        return labels

    def transform(self, X: Any) -> Any:
        """Distance of each row to each centre; of a mixture, the probability of each cluster.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table

        Returns
        -------
        rows : array of shape (n_samples, n_clusters), or a list or dict of such arrays
        """
        return super().transform(X)

    def _transform(self, X: Any, client: str | None) -> FloatArray:
        return self._embed(self._rows(X, client))

    def _embed(self, rows: FloatArray) -> FloatArray:  # what `transform` makes of rows
        return np.sqrt(sq_distances(rows, self.cluster_centers_))

    def _read(self, X: Any) -> Any:  # the tables as numbers
        return X

    def _encode_all(self, rows: Rows) -> Rows:
        """The rows as they are clustered, on the device that clusters them."""
        return rows.put_on(self.device)

    def _map(self, function: Callable[[FloatArray], Any], X: Any) -> Any:
        """Apply a function to the rows of one table, or of each of several."""
        check_is_fitted(self)
        return map_tables(lambda table, client: function(self._rows(table, client)), X)

    def _all_rows(self, X: Any, sample_weight: Any) -> tuple[FloatArray, Any]:
        """The rows of one table, or of several together, and their weights."""
        check_is_fitted(self)
        return join_tables(self._rows, collect(X), sample_weight)

    def _rows(self, X: Any, client: str | None = None) -> FloatArray:
        """Check new rows: one table, or the table of one of several clients."""
        who = "X" if client is None else f"client {client!r}"
        X = self._read(X if self._owner_column is None else without(X, self._owner_column))
        check_missing(self)
        names = getattr(self, "feature_names_in_", None)
        if client is not None and names is not None:
            X = reorder_columns(X, names.tolist(), who, "the fit")
        rows = check_table(self, X, who, reset=False)
        checked = Data.of(rows, client=who, names=names, missing=self._partial).X
        found = rows if self._partial else checked  # with the rows without any value
        return self._clip(found) if self._estimates else found

    def _clip(self, rows: FloatArray) -> FloatArray:  # to estimated bounds
        return np.clip(rows, *self.bounds_)

    @property
    def _partial(self) -> bool:
        """Whether rows may have missing cells."""
        return bool(self.missing == "partial")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._partial
        return tags

    def _schema(self, tier: Tier) -> Schema:
        low, high = given_bounds(self._bounds, tier, self.n_features_in_)
        return Schema(self.n_features_in_, low=low, high=high, missing=self._partial)

    def _given_init(self) -> Init:  # in the columns that are clustered
        return self.init

    @property
    def _bounds(self) -> Any:  # of the columns of X
        return self.bounds

    @property
    def _estimates(self) -> bool:
        """Whether bounds are found from counts of values."""
        return is_estimate(self.bounds)

    def _find_bounds(
        self, rows: Rows, schema: Schema, tier: Tier, runner: Runner
    ) -> tuple[Rows, Schema]:
        """Rows within estimated bounds, if bounds are estimated, and the schema with them."""
        if not self._estimates:
            return rows, schema
        low, high = self.bounds_ = estimated_bounds(rows.by_client, schema, tier, runner)
        device = getattr(self, "device", "cpu")  # mixtures have none
        return clip(rows, low, high, device), replace(schema, low=low, high=high)

    def _algorithm(self) -> AnyAlgorithm:
        """The algorithm of a key, of a class, or the one given, with the estimator's parameters."""
        algorithm = self.algorithm
        if isinstance(algorithm, str):
            return self._configure(self._by_key(algorithm))
        if isinstance(algorithm, type) and issubclass(algorithm, Algorithm):
            algorithm = cast(Any, algorithm)(given_clusters(self))
        if not clusters_rows(algorithm) or algorithm.soft != self._soft:
            raise unsupported(self, algorithm)
        return self._configure(algorithm)

    def _by_key(self, key: str) -> AnyAlgorithm:
        if key == "lossless":
            return make(self._lossless, given_clusters(self))
        if key not in supported_keys(soft=self._soft):
            raise unsupported(self, key)
        return make(key, given_clusters(self))

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
            names = () if is_auto(self.n_clusters) else ("n_clusters",)
            for name in (*names, "fuzzifier") if self._soft else names:
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
        tier = tier.for_preparation(ranges=True, scale=False) if self._estimates else tier
        return tier.with_rounds(self.max_rounds)

    def _earlier_centers(self, n_features: int) -> FloatArray | None:
        """The centres of an earlier fit, from which a warm start continues."""
        earlier: FloatArray | None = getattr(self, "cluster_centers_", None)
        if not self.warm_start or earlier is None:
            return None
        wanted = (given_clusters(self), n_features)
        if earlier.shape != wanted:
            raise ConfigError(
                f"warm_start: the earlier fit has {earlier.shape[0]} clusters of "
                f"{earlier.shape[1]} features, this one {wanted[0]} of {wanted[1]}; set "
                "warm_start=False, or fit a new estimator"
            )
        return earlier

    def _set_results(
        self, clustering: Clustering, rows: Rows, tier: Tier, *, numbered: bool
    ) -> None:
        """Keep the results; clusters that are numbered already keep their numbers."""
        found = np.arange(len(clustering.centers))
        order = found if numbered else self._number(clustering, rows, tier)
        self.algorithm_ = reorder_start(clustering.algorithm, order)
        self.cluster_centers_ = clustering.centers[order]
        self.labels_ = rows.nearest(self.cluster_centers_)
        self.clients_ = tuple(rows.by_client)
        self._places = rows.places
        self.inertia_ = clustering.inertia
        self.n_rounds_ = clustering.run.n_rounds
        self.n_start_rounds_ = clustering.start_rounds
        self.converged_ = clustering.converged
        self.history_ = [asdict(line) for line in clustering.run.history]
        self.bytes_sent_ = dict(clustering.sent)
        self.guarantee_ = clustering.guarantee
        self.n_clusters_ = self._n_features_out = len(self.cluster_centers_)

    def _number(self, clustering: Clustering, rows: Rows, tier: Tier) -> IntArray:
        """The clusters in the order of their numbers: by size, or as the given centres are."""
        centers = clustering.centers
        if self._start_is_given():
            return np.arange(len(centers))
        sizes: Any = np.zeros(len(centers))
        if not tier.noisy:  # the order of exact sizes would disclose more than the noise allows
            sizes = rows.sizes(centers)
        return sort_by_size(sizes, centers)

    def _start_is_given(self) -> bool:
        """Whether the user gave the initial centres, whose order then numbers the clusters."""
        if isinstance(self.init, str) and self.init == "auto":
            algorithm = self.algorithm
            return isinstance(algorithm, Algorithm) and algorithm.parameter("init") is not None
        return not isinstance(self.init, str | Algorithm)

    def _warn(self, tier: Tier) -> None:
        distinct = len(np.unique(self.labels_[self.labels_ >= 0]))
        if distinct < self.n_clusters_:
            change = "change init or random_state"
            if tier.sums_only:
                change = "give bounds closer to the data"
                change += "" if tier.noisy else ", or use init='summary'"
            warnings.warn(
                f"only {distinct} of n_clusters={self.n_clusters_} clusters have any rows; "
                f"reduce n_clusters, or {change}",
                ConvergenceWarning,
                stacklevel=3,
            )
        if not self.converged_:
            most = tier.most_rounds(self.algorithm_)
            remedy = "increase max_rounds or tol"
            if most is not None and self.n_rounds_ >= most:
                remedy = f"privacy={tier.name!r} allows no more rounds; increase tol"
            elif self.sampling < 1:
                remedy = f"with sampling={self.sampling:g} centres keep moving; increase tol"
            warn_of_end(self.algorithm_.key, self.n_rounds_, remedy, stacklevel=4)
