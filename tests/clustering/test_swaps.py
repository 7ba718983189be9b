"""Proposals to improve a start."""

import numpy as np

from fedclust.algorithms.micro_clusters import Summary
from fedclust.clustering.swaps import propose


def test_each_cluster_has_a_split_before_any_has_a_second() -> None:
    """The summary can be wrong about a wide cluster, which must not take the places of others."""
    centers = np.array([[0.0], [50.0], [1000.0]])
    points = np.array([[-1.0], [0.0], [1.0], [48.0], [49.5], [52.5], [900.0], [950.0], [1150.0]])
    weight = np.full(9, 2.0)
    splits = propose(Summary(points, weight), centers, np.array([4.0, 6.0, 6.0]), 64).splits
    clusters = [split.cluster for split in splits]
    assert clusters[:2] == [2, 1]
    assert len(clusters) > 2


def test_points_of_one_place_promise_no_split() -> None:
    """All rivals agree on a value that a cluster has alone: nothing is measured there."""
    centers = np.array([[0.0], [5.0], [9.0]])
    points = np.array([[0.0], [0.0], [0.0], [4.0], [6.0], [9.0], [9.0]])
    splits = propose(Summary(points, np.ones(7)), centers, np.array([1.0, 9.0, 9.0]), 64).splits
    assert {split.cluster for split in splits} == {1}
