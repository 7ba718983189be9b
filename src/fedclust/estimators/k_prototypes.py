"""Federated k-prototypes, for numbers and categories, as a scikit-learn estimator."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from ..algorithms import make
from ..channels import LocalChannel
from ..clustering.preparation.statistics import Moments
from ..clustering.rows import Clustering, Init
from ..core import Algorithm, AnyAlgorithm, ConfigError, Data, Runner, Schema
from ..kernels import sq_distances
from ..metrics import inertia
from ..tiers import Privacy, Tier
from ..typing import Array, FloatArray
from ._auto import given_clusters
from ._mixed import MixedColumns
from ._progress import FitRound
from ._rows import Rows, label

_FEWEST = 5  # values of a client in a column, where sums of fewer are withheld


class FederatedKPrototypes(MixedColumns):
    """k-prototypes: numbers and categories together, over data that stays with its owners.

    The distance of a row to a cluster is the squared distance of its numbers to their means, and
    ``category_weight`` for each category that is not the most frequent one of the cluster. Numbers
    should have one scale, as from `FederatedStandardScaler`.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        As for `FederatedKMeans`.
    categories : dict of column to list, optional
        As for `FederatedMixture`.
    category_weight : float or "auto", default="auto"
        What a category that differs adds to the squared distance. "auto" is half the mean standard
        deviation of the numbers over all clients (Huang, 1998), or with masked sums that of numbers
        spread evenly over their bounds.
    center : {"mode", "shares"}, default="mode"
        Whether the centre of a cluster has its most frequent category, or the share of each.
    init, n_init, max_rounds, tol, sampling, min_clients, privacy, bounds, missing
        As for `FederatedKMeans`. An array ``init`` has a column of 0 and 1 for each category.
        ``privacy`` is none with noise.
    warm_start, verbose, callback, random_state
        As for `FederatedKMeans`.

    Attributes
    ----------
    prototypes_ : array of shape (n_clusters, n_features), of objects
        The mean of each number and the most frequent category, as it is listed.
    cluster_centers_ : array of shape (n_clusters, n_encoded)
        The centres as they are compared with rows. A category is ``sqrt(category_weight_ / 2)``.
    encoded_names_ : list of str
        The columns of ``cluster_centers_``: a column of categories has one for each of them.
    category_weight_ : float
        The weight that was used.
    inertia_ : float
        The cost: distances to the nearest prototypes, summed over the rows of all clients.
    labels_, clients_, n_rounds_, history_, bytes_sent_, algorithm_, guarantee_
        As for `FederatedKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedKPrototypes
    >>> rows = np.array([[0.0, 1], [1.0, 1], [2.0, 2], [10.0, 2], [11.0, 2], [12.0, 1]])
    >>> model = FederatedKPrototypes(2, categories={1: [1, 2]}, random_state=0)
    >>> model.fit(rows, clients=["bank", "shop"] * 3).prototypes_.tolist()
    [[1.0, 1.0], [11.0, 2.0]]
    """

    _lossless = "llf-prototypes"
    _soft = False
    algorithm = "lossless"

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        categories: Any = None,
        category_weight: float | str = "auto",
        center: str = "mode",
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
        verbose: int = 0,
        callback: Callable[[FitRound], object] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.categories = categories
        self.category_weight = category_weight
        self.center = center
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
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def predict(self, X: Any) -> Any:
        """Nearest prototype of each row; -1 for a row without any value.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table
        """
        return self._map(lambda rows: label(self._ready(rows), self.cluster_centers_), X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of the rows: distances to the nearest prototypes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table
        y : ignored
        sample_weight : array-like of shape (n_samples,), or a list or dict of such, optional
        """
        rows, weight = self._all_rows(X, sample_weight)
        ready = self._ready(rows)
        return -inertia(ready, self.cluster_centers_, sample_weight=weight, missing=self._partial)

    def _embed(self, rows: FloatArray) -> FloatArray:
        return np.sqrt(sq_distances(self._ready(rows), self.cluster_centers_))

    def _ready(self, rows: FloatArray) -> FloatArray:
        """Rows as they are compared with centres."""
        ready: FloatArray = self._encode(rows) * self._heights
        return ready

    def _by_key(self, key: str) -> AnyAlgorithm:
        return make(self._lossless, given_clusters(self), center=self.center)

    def _given_init(self) -> Init:
        init: Any = self.init
        if isinstance(init, str | Algorithm) or np.shape(init)[1:] != self._heights.shape:
            return cast(Init, init)
        return cast(Init, np.asarray(init, dtype=float) * self._heights)

    def _find_bounds(
        self, rows: Rows, schema: Schema, tier: Tier, runner: Runner
    ) -> tuple[Rows, Schema]:
        """Rows whose categories have their weight, and the schema of these."""
        rows, schema = super()._find_bounds(rows, schema, tier, runner)
        assert schema.blocks is not None  # noqa: S101  (columns of numbers and categories)
        known = getattr(self, "category_weight_", None)
        if known is None or not self.warm_start or self.category_weight != "auto":
            known = self._find_weight(rows.by_client, schema, tier, runner)
        self.category_weight_ = known
        heights = self._heights = np.where(schema.blocks > 0, np.sqrt(known / 2.0), 1.0)
        low, high = (None if b is None else b * heights for b in (schema.low, schema.high))
        clients = {n: replace(data, X=data.X * heights) for n, data in rows.by_client.items()}
        ready = replace(rows, by_client=clients, tables=[X * heights for X in rows.tables])
        return ready, replace(schema, low=low, high=high, height=heights)

    def _find_weight(
        self, rows: Mapping[str, Data], schema: Schema, tier: Tier, runner: Runner
    ) -> float:
        given, numbers = self.category_weight, schema.blocks == 0
        if given != "auto":
            if isinstance(given, str | bool) or not 0 < given < np.inf:
                raise ConfigError(f"category_weight must be above zero or 'auto', got {given!r}")
            return float(given)
        if np.all(numbers):
            return 1.0  # there is no category to weigh
        if tier.sums_only and schema.low is not None and schema.high is not None:
            spread = (schema.high - schema.low)[numbers] / np.sqrt(12.0)
        else:
            channel = tier.channel(LocalChannel(rows))
            query = Moments(None if tier.exact else _FEWEST)
            plan = replace(tier.plan(query, channel, schema), purpose="weighing categories")
            found = runner(plan, channel, schema).model
            spread = np.sqrt(found.variance)[numbers & (found.count > 0)]
        weight = float(spread.mean()) / 2.0 if len(spread) else 1.0
        return weight if weight > 0 else 1.0

    def _set_results(
        self, clustering: Clustering, rows: Rows, tier: Tier, *, numbered: bool
    ) -> None:
        super()._set_results(clustering, rows, tier, numbered=numbered)
        self.encoded_names_ = self._encoded_names()
        self.prototypes_ = self._values_of(self.cluster_centers_)

    def _values_of(self, centers: FloatArray) -> Array:
        """Centres in the columns of X: numbers, and the most frequent category as it is listed."""
        coded, first = self._coded(), 0
        values = np.empty((len(centers), self.n_features_in_), dtype=object)
        for place in range(self.n_features_in_):
            if place not in coded:
                values[:, place] = centers[:, first]
                first += 1
                continue
            listed = coded[place].words or coded[place].codes.tolist()
            shares = centers[:, first : first + len(listed)]
            values[:, place] = [listed[most] for most in shares.argmax(axis=1)]
            first += len(listed)
        return values
