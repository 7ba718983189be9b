"""Federated k-means as a scikit-learn estimator."""

from typing import Any

from ..metrics import inertia
from ._federated import Federated


class FederatedKMeans(Federated):
    """k-means over data that stays with its owners.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. "auto" chooses it from the rows of all clients: by a sweep over 2 to 15,
        or, where a tier limits queries, by a summary of all rows that takes eleven.
    algorithm : str, algorithm or class of an algorithm, default="lossless"
        "lossless" (LLF-CM: the centres that pooling all rows would give, from the same start),
        the key of a registered algorithm that finds labels ("llf-cm", "fkm", "k-fed", "one-shot",
        "dwf", "ewf", "robust-cm"), or an algorithm made by `fedclust.make`.
    init : str, array of shape (n_clusters, n_features) or seeding, default="auto"
        The initialisation. "auto" selects the default of the algorithm, or of the privacy tier
        where sums are masked or noisy; "k-means++", scikit-learn's name, means the same. The
        default is usually "micro-clusters": small groups of rows from every client, small clusters
        of all rows, and a search for the best centres at the server. Others are "robust" (a few
        clients may lie), "careful" (k-means++ at every client, each seed blended with its
        neighbours), "fkm", "one-shot", "k-fed", "client" (drawn by one client), "uniform" (within
        ``bounds``), "cells" (counts of rows within ``bounds``), "summary" (a search
        in some 80 small clusters of all rows, without noise), an array of centres, or a seeding
        from `fedclust.make_seeding`. No client ever sends one of its rows as a seed.
    n_init : int or "auto", default=1
        Number of initialisations; the one with the lowest pooled inertia is kept. Each further
        run queries the same data again: see the privacy page. "auto" is 1.
    max_rounds : int, optional
        Maximum number of communication rounds; the default of the algorithm if None. A run that
        ends there without convergence gives a `ConvergenceWarning`.
    tol : float, optional
        Stop when a round moves the centres by at most this share of their spread.
    sampling : float, default=1.0
        Share of clients sampled in each round.
    min_clients : int, default=1
        Minimum number of clients sampled, and of replies, in a round.
    privacy : str, tier or tuple of transforms, default="none"
        "none" gives the exact result without protection. "paper" withholds what the algorithm's
        paper withholds. "guarded" computes with means of small groups of rows. "secure"
        shows the server only exact totals over clients. "dp" and "secure+dp" add noise for
        differential privacy. The tiers in `fedclust.privacy` have settings;
        `fedclust.privacy.guarantee` describes what each tier guarantees.
    bounds : (low, high) or "estimate", optional
        Public bounds of the features, for init="uniform" and for "secure", "dp" and "secure+dp";
        each a number or one per feature. They must not be computed from the data. "estimate" finds
        bounds from counts of all clients' values in bins, in up to three queries. Values beyond
        them, of new rows too, count as the nearest bound.
    missing : {"refuse", "partial"}, default="refuse"
        What happens to missing cells (NaN). "partial" takes them as they are: distances are over
        the observed cells, and a centre is the mean of the cells observed in its column. It needs
        the lossless algorithm, and privacy "none" or "secure". A row without any value takes no
        part and has the label -1. Cells are assumed to be missing at random.
    warm_start : bool, default=False
        Whether another `fit` continues from the centres of the last one, and keeps the numbers of
        the clusters, as when new rows have arrived. ``init`` and ``n_init`` then count only in the
        first fit.
    device : {"auto", "cpu", "gpu"}, default="auto"
        Where the steps over the rows run. "auto" follows the environment variable
        ``FEDCLUST_DEVICE``, or takes an NVIDIA GPU for large tables if there is one and
        ``fedclust[gpu]`` is installed. Labels and masked sums are the same on both.
    verbose : int, default=0
        Above 0, every round is printed. The logger ``fedclust.estimators`` has the same lines: the
        end of a fit at level INFO, rounds at level DEBUG.
    callback : callable or None, default=None
        Called after every round with a `FitRound`. An exception that it raises ends the fit.
    random_state : int, RandomState, Generator or None, default=None
        Makes seeding, client sampling and restarts at the server reproducible.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centre of each cluster. Clusters are numbered from 0 by size, largest first, as in
        studies and exported models; with noise, by the values of their centres. If ``init`` is an
        array, they keep its order.
    n_clusters_ : int
        Number of clusters.
    bounds_ : tuple of two arrays of shape (n_features,)
        Estimated bounds; only with ``bounds="estimate"``.
    choice_ : Choice or None
        With ``n_clusters="auto"``, the evidence for the number of clusters: ``choice_.why`` in
        words, ``choice_.scores``, and ``choice_.summary`` if it was chosen by a summary.
    labels_ : array of shape (n_samples,)
        Nearest centre of each row, in the order given (client after client for several tables).
        `labels_of` returns the labels of one client.
    clients_ : tuple of str
        Names of the clients.
    inertia_ : float
        Pooled sum of squared distances to the nearest centre, computed by a federated run. NaN
        with "dp" and "secure+dp", where this run would spend privacy budget; ``-score(X)`` is the
        inertia of rows that you may see.
    n_rounds_ : int
        Number of clustering rounds, without seeding and scoring.
    n_start_rounds_ : int
        Number of rounds for the initial centres.
    history_ : list of dict
        For each round: number of clients, shift of the centres, and bytes in both directions.
    bytes_sent_ : dict of str to int
        Bytes sent by each client in total: seeding, clustering, scoring.
    algorithm_ : algorithm
        The algorithm as it ran, with its initial centres in the order of the clusters.
    guarantee_ : Guarantee
        Privacy guarantee of this run: tier, parameters and a description.

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
        X : table of shape (n_samples, n_features), or list of tables, or dict of name to table
        y : ignored
        sample_weight : array-like of shape (n_samples,), or a list or dict of such, optional

        Returns
        -------
        score : float
        """
        rows, weight = self._all_rows(X, sample_weight)
        return -inertia(rows, self.cluster_centers_, sample_weight=weight, missing=self._partial)
