"""Agreement of a clustering with labels, or of centres with other centres."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..core import ConfigError
from ..kernels import sq_distances


def adjusted_rand_index(truth: Any, labels: Any) -> float:
    """Adjusted Rand index of all rows together (scikit-learn's)."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth, labels))


def adjusted_rand_of_table(table: Any) -> float:
    """Adjusted Rand index from a contingency table: counts of rows by two clusterings."""
    counts = np.asarray(table, dtype=np.float64)
    cells, rows, columns, pairs = (
        (n * (n - 1) / 2).sum()
        for n in (counts, counts.sum(axis=1), counts.sum(axis=0), counts.sum())
    )
    by_chance = rows * columns / pairs if pairs else 0.0
    maximum = (rows + columns) / 2
    # If both have a single cluster, or only clusters of one row, they agree.
    return float((cells - by_chance) / (maximum - by_chance)) if maximum != by_chance else 1.0


def normalized_mutual_information(truth: Any, labels: Any) -> float:
    """Normalised mutual information (scikit-learn's, arithmetic mean): the v-measure."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(truth, labels))


def v_measure(truth: Any, labels: Any) -> float:
    """Harmonic mean of homogeneity and completeness (scikit-learn's)."""
    from sklearn.metrics import v_measure_score

    return float(v_measure_score(truth, labels))


def silhouette(X: Any, labels: Any) -> float:
    """Mean silhouette over all pairs of rows (scikit-learn's); quadratic in their number."""
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(X, labels))


def majority_accuracy(truth: Any, labels: Any) -> float:
    """Share of rows with the most frequent label of their cluster, as in the DWF paper."""
    _, rows = np.unique(labels, return_inverse=True)
    _, columns = np.unique(truth, return_inverse=True)
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1)
    return float(table.max(axis=1).sum() / len(rows))


def client_mean(
    metric: Callable[[Any, Any], float], truth: Any, labels: Any, clients: Any
) -> float:
    """Mean of a metric over clients, weighted by their rows, as in the FKM paper.

    This differs from the metric of the pooled rows: a cluster that a client lacks cannot count
    against the clustering there.
    """
    truth, labels, clients = np.asarray(truth), np.asarray(labels), np.asarray(clients)
    owners, sizes = np.unique(clients, return_counts=True)
    values = [metric(truth[clients == c], labels[clients == c]) for c in owners]
    return float(np.average(values, weights=sizes))


def knowledge_gap(centers: Any, truth: Any, matching: Literal["best", "nearest"] = "best") -> float:
    """Sum of distances between estimated and true centres.

    "best" pairs them one to one with the smallest total distance. "nearest" takes the closest true
    centre for each estimated one, as the code of the FFCM authors does. That hides true centres
    that were missed.
    """
    distance = np.sqrt(
        sq_distances(np.asarray(centers, dtype=float), np.asarray(truth, dtype=float))
    )
    if matching == "nearest":
        return float(distance.min(axis=1).sum())
    if matching != "best":
        raise ConfigError(f"matching must be 'best' or 'nearest', got {matching!r}")
    if distance.shape[0] != distance.shape[1]:
        raise ConfigError(
            f"{len(distance)} centres, but {distance.shape[1]} true ones; use matching='nearest'"
        )
    from scipy.optimize import linear_sum_assignment

    return float(distance[linear_sum_assignment(distance)].sum())


def normalized_gap(
    centers: Any, truth: Any, matching: Literal["best", "nearest"] = "best"
) -> float:
    """Knowledge gap divided by the root of the number of features."""
    return knowledge_gap(centers, truth, matching) / float(np.sqrt(np.shape(truth)[1]))


def tolerance_index(centers: Any, before: Any) -> float:
    """Frobenius norm of the change of centres between two rounds."""
    return float(np.linalg.norm(np.asarray(centers) - np.asarray(before)))
