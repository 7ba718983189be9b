"""What all estimators do with their parameters."""

import inspect
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from sklearn.utils import check_random_state

from ..algorithms import ALGORITHMS, SEEDINGS
from ..core import Algorithm, AnyAlgorithm, ConfigError, checks, did_you_mean
from ..typing import IntArray

# Parameters of scikit-learn's and others' clusterers, and what to use here instead.
_ELSEWHERE = {
    "batch_size": "the default algorithm is exact and needs no batches; sampling takes a share of "
    "the clients in each round",
    "c": "use n_clusters",
    "copy_x": "tables are never changed",
    "eps": "use tol",
    "error": "use tol",
    "fuzziness": "use fuzzifier",
    "init_params": "use init",
    "k": "use n_clusters",
    "m": "use fuzzifier",
    "max_iter": "use max_rounds",
    "maxiter": "use max_rounds",
    "metric": "distances are Euclidean",
    "n_components": "use n_clusters",
    "n_jobs": "all cores are used; FEDCLUST_NUM_THREADS limits them",
    "num_clusters": "use n_clusters",
    "participation": "use sampling",
    "seed": "use random_state",
    "tolerance": "use tol",
    "warm_start": "to continue from earlier labels, pass init=earlier.labels_",
}
_PLAIN = ("auto", "cmeans", "elkan", "fcm", "full", "lloyd")  # names for it in other packages
_LARGEST_SEED = 2**31 - 1
_MISSING = ("refuse", "partial")


class KnownParameters:
    """Refuses an unknown parameter in words that name the class and the parameter to use."""

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        accepted = inspect.signature(cls.__init__).parameters
        takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in accepted.values())
        for name in parameters:
            if name not in accepted and not takes_any:
                advice = _ELSEWHERE.get(name)
                near = f"; {advice}" if advice else did_you_mean(name, list(accepted)[1:])
                raise TypeError(f"{cls.__name__} has no parameter {name!r}{near}")
        return super().__new__(cls)


def count_starts(estimator: Any) -> int:
    """The number of initialisations; "auto" is one."""
    if isinstance(estimator.n_init, str) and estimator.n_init == "auto":
        return 1
    checks.integer(estimator, "n_init")
    return int(estimator.n_init)


def draw_seed(random_state: Any) -> int:
    """A seed from what scikit-learn accepts as random_state, or from NumPy's newer generator."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_LARGEST_SEED))
    return int(check_random_state(random_state).randint(_LARGEST_SEED))


def supported_keys(*, soft: bool) -> list[str]:
    """Keys of algorithms that find labels, or memberships; mixtures have their own estimator."""
    traits = ((key, kind.traits) for key, kind in ALGORITHMS.items())
    return [key for key, t in traits if t.soft == soft and not t.likelihood]


def unsupported(estimator: Any, algorithm: Any) -> ConfigError:
    """An error that names the algorithms of the estimator."""
    key = str(getattr(algorithm, "key", algorithm))
    known = ["lossless", *supported_keys(soft=estimator._soft)]
    plain = "mean" in key.casefold() or key.casefold() in _PLAIN
    near = "; the plain algorithm is 'lossless'" if plain else did_you_mean(key, known)
    return ConfigError(
        f"algorithm: {type(estimator).__name__} does not support {key!r}; use one of "
        f"{', '.join(known)}{near}"
    )


def check_missing(estimator: Any) -> None:
    """Refuse what ``missing`` cannot be."""
    if estimator.missing not in _MISSING:
        known = " or ".join(map(repr, _MISSING))
        raise ConfigError(
            f"missing must be {known}, got {estimator.missing!r}; FederatedImputer fills missing "
            "cells with means"
        )


def reorder_start(algorithm: AnyAlgorithm, order: IntArray) -> AnyAlgorithm:
    """The algorithm with its initial centres in the order of the clusters' numbers."""
    start = algorithm.parameter("init")
    if start is None:
        return algorithm
    return cast(AnyAlgorithm, replace(cast(Any, algorithm), init=start[order]))


def clusters_rows(algorithm: Any) -> bool:
    """Whether it finds clusters of rows: not a seeding, a statistic, or for split columns."""
    if not isinstance(algorithm, Algorithm) or algorithm.partition != "horizontal":
        return False
    kind = type(algorithm)
    seeding = SEEDINGS.get(kind.key) is kind and ALGORITHMS.get(kind.key) is not kind
    return kind.assign is not Algorithm.assign and not seeding
