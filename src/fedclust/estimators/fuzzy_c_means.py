"""Federated fuzzy c-means as a scikit-learn estimator."""

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..clustering.rows import Init
from ..core import AnyAlgorithm
from ..kernels import memberships
from ..metrics import fuzzy_objective
from ..tiers import Privacy
from ._federated import Federated
from ._progress import FitRound


class FederatedFuzzyCMeans(Federated):
    """Fuzzy c-means over data that stays with its owners.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. "auto" chooses it from the rows of all clients: by a sweep over 2 to 15,
        or, where a tier limits queries, by a summary of all rows that takes eleven.
    fuzzifier : float, default=2.0
        Softness of the memberships, above 1; near 1 they are almost hard labels.
    algorithm : str, algorithm or class of an algorithm, default="lossless"
        "lossless" (LLF-FCM: the centres that pooling all rows would give, from the same start),
        the key of a registered algorithm that finds memberships ("llf-fcm", "ffcm-avg1",
        "ffcm-avg2", "ffcf", "gdf-fcm", "c2f-fcm"), or an algorithm made by `fedclust.make`.
    init, n_init, max_rounds, tol, sampling, min_clients, privacy, bounds, missing, warm_start, \
verbose, callback, random_state
        As for `FederatedKMeans`.

    Attributes
    ----------
    cluster_centers_, labels_, clients_, inertia_, n_rounds_, history_, bytes_sent_, algorithm_
        As for `FederatedKMeans`; a label is the cluster of the highest membership.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedFuzzyCMeans
    >>> rows = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = FederatedFuzzyCMeans(2, random_state=0).fit([rows[::2], rows[1::2]])
    >>> model.predict_proba([[5.5, 2.0]]).round(3)
    array([[0.5, 0.5]])
    """

    _lossless = "llf-fcm"
    _soft = True

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        fuzzifier: float = 2.0,
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
        super().__init__(
            n_clusters,
            algorithm=algorithm,
            init=init,
            n_init=n_init,
            max_rounds=max_rounds,
            tol=tol,
            sampling=sampling,
            min_clients=min_clients,
            privacy=privacy,
            bounds=bounds,
            missing=missing,
            warm_start=warm_start,
            device=device,
            verbose=verbose,
            callback=callback,
            random_state=random_state,
        )
        self.fuzzifier = fuzzifier

    def predict_proba(self, X: Any) -> Any:
        """Membership of each row in each cluster; rows add up to one.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table

        Returns
        -------
        memberships : array of shape (n_samples, n_clusters), or a list or dict of such arrays
        """
        fuzzifier = self._fuzzifier
        return self._map(lambda rows: memberships(rows, self.cluster_centers_, fuzzifier), X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the fuzzy objective, the sum of u^m d^2.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table
        y : ignored
        sample_weight : array-like of shape (n_samples,), or a list or dict of such, optional

        Returns
        -------
        score : float
        """
        rows, weight = self._all_rows(X, sample_weight)
        return -fuzzy_objective(
            rows,
            self.cluster_centers_,
            fuzzifier=self._fuzzifier,
            sample_weight=weight,
            missing=self._partial,
        )

    @property
    def _fuzzifier(self) -> float:
        check_is_fitted(self)
        return float(self.algorithm_.parameter("fuzzifier"))
