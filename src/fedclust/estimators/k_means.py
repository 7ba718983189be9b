"""Federated k-means with scikit-learn's manners."""

from typing import Any

from ..metrics import inertia
from ._federated import Federated


class FederatedKMeans(Federated):
    """k-means over data that stays with its owners.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    algorithm : str, algorithm or class of an algorithm, default="lossless"
        "lossless" (LLF-CM: the centres that pooling all rows would give, from the same start),
        the key of a registered algorithm that finds labels ("llf-cm", "fkm", "k-fed", "one-shot",
        "dwf", "ewf", "robust-cm"), or an algorithm made by `fedclust.make`.
    init : str, array of shape (n_clusters, n_features) or seeding, default="auto"
        The start: "careful" (k-means++ at every client, each seed blended with its neighbours),
        "fkm", "one-shot", "k-fed", "client" (one client draws), "uniform" (in ``bounds``), the
        centres themselves, or a seeding made by `fedclust.make_seeding`. "auto" is what suits the
        algorithm. No seed that leaves a client is one of its rows.
    n_init : int, default=1
        Starts; the one with the lowest pooled inertia is kept. Every start is a further look at
        the same data: see the privacy page.
    max_rounds : int, optional
        Most rounds of communication; the algorithm's own default if None.
    tol : float, optional
        Stop when a round moves the centres by at most this share of their spread.
    sampling : float, default=1.0
        Share of clients asked in each round, drawn afresh every time.
    min_clients : int, default=1
        Fewest clients asked, and answering, in a round.
    privacy : str, tier or tuple of transforms, default="none"
        "none" is the exact result, in the open. "paper" withholds what the algorithm's paper
        withholds. "guarded" withholds differences that would show single records. "secure" hides
        every client's sums in their total, exactly. "dp" and "secure+dp" add noise: differential
        privacy. A tier of `fedclust.privacy` has settings; `fedclust.privacy.guarantee` says in
        plain words what each promises.
    bounds : (low, high), optional
        Public bounds of the features, for init="uniform" and for "secure", "dp" and "secure+dp";
        each a number or one per feature.
    random_state : int, RandomState or None, default=None
        Makes seeding, sampling of clients and server-side restarts reproducible.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)
        Nearest centre of each row, in the order given (client after client for several tables).
    inertia_ : float
        Pooled sum of squared distances to the nearest centre, found by a federated run.
    n_rounds_ : int
        Rounds of the clustering run, without seeding and scoring.
    history_ : list of dict
        For each round its clients, how far the centres moved, and bytes both ways.
    bytes_sent_ : dict of str to int
        What left each client, in all runs: seeding, clustering, scoring.
    algorithm_ : algorithm
        The algorithm as it ran, with its start.
    promise_ : Promise
        What may be said of this run's privacy: tier, parameters and words.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedKMeans
    >>> rows = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> owners = ["bank", "bank", "shop", "shop", "bank", "shop"]
    >>> model = FederatedKMeans(2, random_state=0).fit(rows, clients=owners)
    >>> sorted(model.cluster_centers_.tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    """

    _lossless = "llf-cm"
    _soft = False

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of squared distances to the nearest centre.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
        """
        return -inertia(self._rows(X), self.cluster_centers_, sample_weight=sample_weight)
