"""Fuzzy c-means over split columns as a scikit-learn estimator."""

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..algorithms import vertical_fuzzy_c_means
from ..clustering.columns import Start
from ..kernels.columns import powered_memberships
from ..typing import FloatArray
from ._progress import FitRound
from ._vertical import Vertical


class VerticalFuzzyCMeans(Vertical):
    """Fuzzy c-means over records whose columns are split between owners.

    Lossless (LLF-FCM for vertically partitioned data). Owners send distances, never values. The
    server must be trusted with these distances: see ``trust_``.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    fuzzifier : float, default=2.0
        Softness of the memberships, above 1; near 1 they are almost hard labels.
    init, n_init, max_rounds, tol, message_dtype, verbose, callback, random_state
        As for `VerticalKMeans`.

    Attributes
    ----------
    memberships_ : array of shape (n_records, n_clusters)
        Of each shared record; `memberships_of` returns them in the row order of one owner.
    labels_, inertia_, n_rounds_, converged_, history_, bytes_sent_, algorithm_, owners_, \
alignment_, trust_
        As for `VerticalKMeans`; a label is the cluster of the highest membership.
    """

    _kind = vertical_fuzzy_c_means.VerticalFuzzyCMeans

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fuzzifier: float = 2.0,
        init: Start = "k-means++",
        n_init: int | str = 1,
        max_rounds: int | None = None,
        tol: float | None = None,
        message_dtype: str = "float64",
        verbose: int = 0,
        callback: Callable[[FitRound], object] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_rounds=max_rounds,
            tol=tol,
            message_dtype=message_dtype,
            verbose=verbose,
            callback=callback,
            random_state=random_state,
        )
        self.fuzzifier = fuzzifier

    def predict_proba(self, X: Any, owners: Any = None) -> FloatArray:
        """Membership of each new record in each cluster, by one round; all owners must answer.

        Parameters
        ----------
        X : as in `fit`, the same owners with the same columns
        owners : as in `fit`

        Returns
        -------
        memberships : array of shape (n_records, n_clusters)
        """
        return self._memberships(self._distances(self._new_records(X, owners)))

    def memberships_of(self, owner: str) -> FloatArray:
        """Memberships of each row of an owner's table, in its own order; NaN if unmatched.

        Parameters
        ----------
        owner : str

        Returns
        -------
        memberships : array of shape (rows of the owner, n_clusters)
        """
        check_is_fitted(self)
        return self.alignment_.in_row_order(self._owner(owner), self.memberships_, float("nan"))

    def _assign(self, d2: FloatArray) -> None:
        super()._assign(d2)
        self.memberships_ = self._memberships(d2)

    def _memberships(self, d2: FloatArray) -> FloatArray:
        m = self.algorithm_.parameter("fuzzifier")
        return powered_memberships(d2, m, 1.0, float)
