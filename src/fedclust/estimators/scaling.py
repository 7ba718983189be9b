"""Transformers of numbers that learn from all clients: two scalers and an imputer."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..clustering.preparation.extremes import Extremes
from ..clustering.preparation.statistics import Moments
from ..core import AnyAlgorithm, ConfigError, DataError
from ..typing import FloatArray
from ._transformer import FederatedTransformer

Ask = Callable[[AnyAlgorithm], Any]


class FederatedStandardScaler(FederatedTransformer):
    """Standardise columns by the mean and deviation of all clients' rows.

    Clients send counts, sums and sums of squares. The result is that of scikit-learn's
    `StandardScaler` on one table with all rows, which would have to pool them.

    Parameters
    ----------
    with_mean : bool, default=True
        Whether the mean is subtracted.
    with_std : bool, default=True
        Whether columns are divided by their standard deviation.

    Attributes
    ----------
    mean_, var_, scale_ : array of shape (n_features,)
        Mean and variance of all rows, and what columns are divided by.
    n_samples_seen_ : array of shape (n_features,)
        Values of each column that are not missing.
    clients_ : tuple of str
        Names of the clients.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedStandardScaler
    >>> scaler = FederatedStandardScaler().fit({"north": [[1.0], [3]], "south": [[5.0]]})
    >>> scaler.mean_, scaler.transform([[3.0]])
    (array([3.]), array([[0.]]))

    In a pipeline, scikit-learn's metadata routing passes the owners on to every step:

    >>> import sklearn
    >>> from sklearn.pipeline import make_pipeline
    >>> from fedclust import FederatedKMeans
    >>> X = np.array([[1.0, 20], [2, 10], [1, 10], [9, 20], [8, 10], [9, 10]])
    >>> owners = ["north", "north", "north", "south", "south", "south"]
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     pipe = make_pipeline(FederatedStandardScaler(), FederatedKMeans(2, random_state=0))
    ...     pipe.fit(X, clients=owners)[-1].clients_
    ('north', 'south')
    """

    def __init__(self, *, with_mean: bool = True, with_std: bool = True) -> None:
        self.with_mean = with_mean
        self.with_std = with_std

    def inverse_transform(self, X: Any) -> Any:
        """Values in the original units.

        Parameters
        ----------
        X : as in `transform`

        Returns
        -------
        rows : as in `transform`
        """
        return self._map(lambda rows: rows * self._divisor + self._offset, X)

    def _learn(self, ask: Ask) -> None:
        found = ask(Moments(None))
        counts = found.count
        self.n_samples_seen_ = counts.astype(np.int64)
        known = counts > 0
        self.mean_ = np.where(known, found.mean, np.nan)
        self.var_ = np.where(known, found.variance, np.nan)
        self.scale_ = np.sqrt(self.var_)
        # As in scikit-learn: a variance that is nothing but rounding is none.
        digits = np.finfo(np.float64).eps * np.maximum(counts, 1)
        bound = digits * self.var_ + (digits * self.mean_) ** 2
        self.scale_[self.var_ <= bound] = 1.0

    def _apply(self, rows: FloatArray) -> FloatArray:
        scaled: FloatArray = (rows - self._offset) / self._divisor
        return scaled

    @property
    def _offset(self) -> Any:
        return self.mean_ if self.with_mean else 0.0

    @property
    def _divisor(self) -> Any:
        return self.scale_ if self.with_std else 1.0


class FederatedMinMaxScaler(FederatedTransformer):
    """Scale columns to a range, by public bounds or by the extremes of all clients' rows.

    The lowest and the highest value of a column belong to single records. With more than one client
    they are therefore sent only with ``bounds="extremes"``.

    Parameters
    ----------
    feature_range : (low, high), default=(0, 1)
        The range of the result.
    bounds : (low, high) or "extremes", optional
        Public bounds of the columns, each a number or one per column; no client is asked. Or
        "extremes": every client sends its lowest and highest values. A single client, the pooled
        case, needs neither.
    clip : bool, default=False
        Whether values beyond the bounds become the nearest bound.

    Attributes
    ----------
    data_min_, data_max_ : array of shape (n_features,)
        The bounds.
    scale_, min_ : array of shape (n_features,)
        The result is ``X * scale_ + min_``.
    clients_ : tuple of str
        Names of the clients.

    Examples
    --------
    >>> from fedclust import FederatedMinMaxScaler
    >>> tables = {"north": [[30.0], [40]], "south": [[60.0]]}
    >>> FederatedMinMaxScaler(bounds=(20, 70)).fit(tables).transform([[45.0]])
    array([[0.5]])
    """

    def __init__(
        self,
        feature_range: tuple[float, float] = (0, 1),
        *,
        bounds: Any = None,
        clip: bool = False,
    ) -> None:
        self.feature_range = feature_range
        self.bounds = bounds
        self.clip = clip

    def inverse_transform(self, X: Any) -> Any:
        """Values in the original units.

        Parameters
        ----------
        X : as in `transform`

        Returns
        -------
        rows : as in `transform`
        """
        return self._map(lambda rows: (rows - self.min_) / self.scale_, X)

    def _check_parameters(self) -> None:
        low, high = self.feature_range
        if not low < high:
            raise ConfigError(
                f"feature_range: low must be below high; its minimum is {low}, its maximum {high}"
            )

    def _learn(self, ask: Ask) -> None:
        low, high = self._bounds(ask)
        start, end = self.feature_range
        spread = high - low
        self.scale_ = (end - start) / np.where(spread < 10 * np.finfo(float).eps, 1.0, spread)
        self.min_ = start - low * self.scale_
        self.data_min_, self.data_max_ = low, high

    def _bounds(self, ask: Ask) -> tuple[FloatArray, FloatArray]:
        bounds, F = self.bounds, self.n_features_in_
        extremes = isinstance(bounds, str) and bounds == "extremes"
        if extremes or (bounds is None and len(self.clients_) == 1):
            found: tuple[FloatArray, FloatArray] = ask(Extremes())
            return found
        if bounds is None:
            raise ConfigError(
                "the lowest and highest values belong to single records; pass public "
                "bounds=(low, high), or bounds='extremes' to have each client send them"
            )
        try:
            low, high = (np.broadcast_to(np.asarray(b, dtype=float), (F,)) for b in bounds)
        except (TypeError, ValueError):
            raise ConfigError(
                f"bounds must be (low, high), each a number or {F} numbers, or 'extremes'"
            ) from None
        if not (np.isfinite([low, high]).all() and (low < high).all()):
            raise ConfigError(
                "bounds: low and high must be finite, and low below high, in every column"
            )
        return low, high

    def _apply(self, rows: FloatArray) -> FloatArray:
        scaled = rows * self.scale_ + self.min_
        return np.clip(scaled, *self.feature_range) if self.clip else scaled


class FederatedImputer(FederatedTransformer):
    """Fill missing values by the mean of all clients' rows, or by a constant.

    Clients send counts and sums. The result is that of scikit-learn's `SimpleImputer` on one table
    with all rows. Filled values pull rows towards the middle; ``missing="partial"`` of
    `FederatedKMeans` clusters rows with missing cells as they are.

    Parameters
    ----------
    strategy : {"mean", "constant"}, default="mean"
        What missing values become. A median or a mode is no sum over clients.
    fill_value : float, default=0.0
        With strategy="constant".

    Attributes
    ----------
    statistics_ : array of shape (n_features,)
        The value that is filled in, by column.
    clients_ : tuple of str
        Names of the clients.

    Examples
    --------
    >>> from fedclust import FederatedImputer
    >>> nan = float("nan")
    >>> FederatedImputer().fit({"north": [[1.0], [nan]], "south": [[3.0]]}).transform([[nan]])
    array([[2.]])
    """

    def __init__(self, strategy: str = "mean", *, fill_value: float = 0.0) -> None:
        self.strategy = strategy
        self.fill_value = fill_value

    def _check_parameters(self) -> None:
        if self.strategy not in ("mean", "constant"):
            raise ConfigError(
                f"strategy must be 'mean' or 'constant', got {self.strategy!r}; other statistics "
                "are no sums over clients"
            )

    def _learn(self, ask: Ask) -> None:
        if self.strategy == "constant":
            self.statistics_ = np.full(self.n_features_in_, float(self.fill_value))
            return
        found = ask(Moments(None))
        if (empty := np.flatnonzero(found.count == 0)).size:
            names = getattr(self, "feature_names_in_", None)
            which = [str(p) if names is None else repr(names[p]) for p in empty]
            raise DataError(
                f"no client has a value in column {', '.join(which)}; leave it out, or use "
                "strategy='constant'"
            )
        self.statistics_ = found.mean

    def _apply(self, rows: FloatArray) -> FloatArray:
        return np.where(np.isnan(rows), self.statistics_, rows)
