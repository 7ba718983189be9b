"""k-means over split columns as a scikit-learn estimator."""

from ..algorithms import vertical_c_means
from ._vertical import Vertical


class VerticalKMeans(Vertical):
    """k-means over records whose columns are split between owners.

    Lossless (LLF-CM for vertically partitioned data): the clusters that one table with all
    columns would give, from the same start. Owners send distances, never values. The server must
    be trusted with these distances: see ``trust_``.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "records", "partition"} or array, default="k-means++"
        The initialisation: k-means++ over summed distances, a random record per cluster, a random
        partition; or an array of a record number per cluster, or a cluster number per record.
    n_init : int or "auto", default=1
        Number of initialisations; the one with the lowest inertia is kept. An array is run once.
        "auto" is 1.
    max_rounds : int, optional
        Maximum number of communication rounds; 300 if None. A run that ends there without
        convergence gives a `ConvergenceWarning`.
    tol : float, optional
        Stop when distances change by at most this share; 1e-6 if None.
    message_dtype : {"float64", "float32"}, default="float64"
        Type of the numbers sent. "float32" halves the bytes and keeps seven digits of each
        distance; the result is then no longer exactly that of one table.
    verbose, callback
        As for `FederatedKMeans`.
    random_state : int, RandomState, Generator or None, default=None
        Makes results reproducible. In `fit_frames`, the order of the records and so the random
        draws depend on the secret too.

    Attributes
    ----------
    labels_ : array of shape (n_records,)
        Cluster of each shared record; `labels_of` returns them in the row order of one owner.
        Clusters are numbered from 0 by size, largest first. If ``init`` is an array, they keep
        its order.
    inertia_ : float
        Sum of squared distances to the nearest centre.
    n_rounds_, converged_, history_, bytes_sent_, algorithm_
        As for `FederatedKMeans`; bytes are those of distances, without the alignment.
    owners_ : tuple of str
        Names of the owners.
    alignment_ : Alignment
        Which rows of each owner took part; ``alignment_.report()`` counts them.
    trust_ : str
        What the server learns.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import VerticalKMeans
    >>> bank = np.array([[1.0], [1], [1], [10], [10], [10]])
    >>> telecom = np.array([[2.0], [4], [0], [2], [4], [0]])
    >>> model = VerticalKMeans(2, random_state=0).fit({"bank": bank, "telecom": telecom})
    >>> model.centers_of("bank").ravel().round(1).tolist()
    [1.0, 10.0]
    """

    _kind = vertical_c_means.VerticalCMeans
