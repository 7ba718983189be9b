"""k-means over split columns, with scikit-learn's manners."""

from ..algorithms import vertical_c_means
from ._vertical import Vertical


class VerticalKMeans(Vertical):
    """k-means over records whose columns are split between owners.

    Lossless (LLF-CM for vertically partitioned data): the clusters that one table with all
    columns would give, from the same start. Owners send distances, never values; the server
    must be trusted with geometry, see ``trust_``.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "records", "partition"} or array, default="k-means++"
        The start: k-means++ over summed distances, a random record for each cluster, a random
        partition; or a record number for each cluster, or a cluster number for each record.
    n_init : int, default=1
        Starts; the one with the lowest inertia is kept. A start that is given is run once.
    max_rounds : int, optional
        Most rounds of communication; 300 if None.
    tol : float, optional
        A run ends when distances change by at most this share; 1e-6 if None.
    message_dtype : {"float64", "float32"}, default="float64"
        Type of what is sent. "float32" halves the bytes and keeps seven digits of each distance:
        the result is then no longer exactly that of one table.
    random_state : int, RandomState instance or None, default=None
        Fix it for the same result in every run. (In `fit_frames` the order of the records, and so
        what is drawn, depends on the secret too.)

    Attributes
    ----------
    labels_ : array of shape (n_records,)
        Cluster of each shared record; `labels_of` has them in the order of an owner's own rows.
    inertia_ : float
        Sum of squared distances to the nearest centre.
    n_rounds_, converged_, history_, bytes_sent_, algorithm_
        As for `FederatedKMeans`; bytes are those of distances, without the alignment.
    owners_ : tuple of str
        Who took part.
    alignment_ : Alignment
        Which rows of each owner took part; its ``report()`` tells each owner how many.
    trust_ : str
        What the server learns, in plain words.

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
