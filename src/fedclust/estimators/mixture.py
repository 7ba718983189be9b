"""A federated mixture of Gaussian and categorical columns as a scikit-learn estimator."""

from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np

from ..algorithms import make
from ..clustering.rows import Clustering, Init
from ..core import AnyAlgorithm, Runner, Schema
from ..kernels import Density, most_probable, posteriors, score_mixture
from ..tiers import Privacy, Tier
from ..typing import FloatArray, IntArray
from ._auto import given_clusters
from ._bounds import check_within
from ._mixed import MixedColumns
from ._progress import FitRound
from ._rows import Rows


class FederatedMixture(MixedColumns):
    """Mixture of Gaussian and categorical columns over data that stays with its owners.

    Each cluster has a share of the rows, a mean and a variance for each number, and shares for the
    categories of a column. Columns are independent within a cluster.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. "auto" takes the number with the lowest BIC, or with masked sums that of
        a summary of the rows.
    categories : dict of column to list, optional
        The columns of X that hold categories, by position or name, and all their categories:
        numbers, or in a data frame words. They are public: every client must know the same.
    min_variance : float, default=1e-3
        Least variance of a cluster in a column, as a share of the column's variance over all rows.
    init, n_init, max_rounds, tol, sampling, min_clients, privacy, bounds, missing
        As for `FederatedKMeans`. The best of several initialisations has the highest likelihood.
        ``privacy`` is "none" or "secure".
    warm_start, verbose, callback, random_state
        As for `FederatedKMeans`.

    Attributes
    ----------
    weights_ : array of shape (n_clusters,)
        Share of each cluster. Clusters are numbered from 0 by the number of their rows.
    means_, variances_ : array of shape (n_clusters, n_encoded)
        Mean and variance of each number, and the share of each category.
    encoded_names_ : list of str
        The columns of ``means_``: a column of categories has one for each of them.
    log_likelihood_, bic_, icl_ : float
        Fit to the rows of all clients; of BIC and ICL lower is better.
    labels_ : array of shape (n_samples,)
        The most probable cluster of each row.
    clients_, n_rounds_, history_, bytes_sent_, algorithm_, guarantee_
        As for `FederatedKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0, 1, (50, 2)), rng.normal(6, 3, (50, 2))])
    >>> model = FederatedMixture(2, random_state=0).fit(X, clients=np.arange(100) % 3)
    >>> model.weights_.round(1)
    array([0.5, 0.5])
    """

    _lossless = "llf-mixture"
    _soft = True
    algorithm = "lossless"

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        categories: Any = None,
        min_variance: float = 1e-3,
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
        self.min_variance = min_variance
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
        """Most probable cluster of each row; -1 for a row without any value.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table
        """
        return self._map(lambda rows: self._label(self._encode(rows)), X)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each cluster for each row; rows add up to one.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table
        """
        return self._map(lambda rows: posteriors(self._encode(rows), self._density), X)

    def score_samples(self, X: Any) -> Any:
        """Log-likelihood of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table
        """
        return self._map(lambda rows: score_mixture(self._encode(rows), self._density)[0], X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-likelihood of the rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table
        y : ignored
        sample_weight : array-like of shape (n_samples,), or a list or dict of such, optional
        """
        rows, weight = self._all_rows(X, sample_weight)
        each = score_mixture(self._encode(rows), self._density)[0]
        return float(np.average(each, weights=weight))

    def _embed(self, rows: FloatArray) -> FloatArray:
        return np.asarray(posteriors(self._encode(rows), self._density))

    # Results

    def _find_bounds(
        self, rows: Rows, schema: Schema, tier: Tier, runner: Runner
    ) -> tuple[Rows, Schema]:
        rows, schema = super()._find_bounds(rows, schema, tier, runner)
        check_within(rows.by_client, schema, self._encoded_names())
        return rows, schema

    def _by_key(self, key: str) -> AnyAlgorithm:
        return make(self._lossless, given_clusters(self), min_variance=self.min_variance)

    def _label(self, rows: FloatArray) -> IntArray:
        labels = most_probable(rows, self._density)
        labels[np.isnan(rows).all(axis=1)] = -1
        return labels

    def _number(self, clustering: Clustering, rows: Rows, tier: Tier) -> IntArray:
        self._density = cast(Density, clustering.density)
        n = len(clustering.centers)
        if self._start_is_given():
            return np.arange(n)
        labels = np.concatenate([self._label(X) for X in rows.tables])
        w = None if rows.weight is None else rows.weight[labels >= 0]
        sizes = np.bincount(labels[labels >= 0], w, n)
        return np.lexsort([*clustering.centers.T[::-1], -sizes])

    def _set_results(
        self, clustering: Clustering, rows: Rows, tier: Tier, *, numbered: bool
    ) -> None:
        super()._set_results(clustering, rows, tier, numbered=numbered)
        state, order = clustering.run.state, self._number(clustering, rows, tier)
        order = np.arange(len(order)) if numbered else order
        fit = clustering.fit
        assert fit is not None  # noqa: S101  (a mixture has one)
        self._density = Density.unpack(self._density.pack()[order])
        self.labels_ = np.concatenate([self._label(X) for X in rows.tables])
        self.weights_ = state.share[order]
        self.means_, self.variances_ = self.cluster_centers_, state.variance[order]
        self.log_likelihood_, self.bic_, self.icl_ = fit.loglik, fit.bic, fit.icl
        self.encoded_names_ = self._encoded_names()

    def fit(self, X: Any, y: Any = None, clients: Any = None, sample_weight: Any = None) -> Self:
        """Fit the mixture to the rows of all clients.

        Parameters
        ----------
        X, y, clients, sample_weight
            As for `FederatedKMeans.fit`.
        """
        return super().fit(X, y, clients, sample_weight)
