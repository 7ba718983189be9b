"""Valleys between clusters, which a single skewed cloud does not have."""

import numpy as np
import pytest

from fedclust.clustering.summary import choose_from
from fedclust.clustering.summary.valleys import deepest_valley
from fedclust.kernels import k_means

from .cases import blobs, summarise


@pytest.mark.parametrize("F", [1, 2, 6])
def test_clusters_have_valleys_between_them_and_a_skewed_cloud_has_none(F: int) -> None:
    rng = np.random.default_rng(F)
    apart = np.zeros((3, F))
    apart[:, 0] = [0.0, 4.0, 12.0]  # two are close to each other
    rows = rng.normal(apart[np.arange(3_000) % 3], 1.0)
    assert deepest_valley(rows, apart) < 0.1
    assert deepest_valley(rows[np.arange(3_000) % 3 < 2], apart[:2]) < 0.5
    skewed = rng.exponential(size=(3_000, F))
    assert deepest_valley(skewed, k_means(skewed, 3, rng)) > 0.7


def test_without_two_places_there_is_no_valley() -> None:
    rows = blobs(2)
    assert deepest_valley(rows, rows[:1]) == 1.0
    assert deepest_valley(rows, np.zeros((2, 2))) == 1.0


def test_evidence_in_a_skewed_cloud_is_weak() -> None:
    rows = np.random.default_rng(0).exponential(size=(2_000, 3))
    choice = choose_from(summarise(rows), range(2, 10))
    assert choice.weak
    assert "nowhere between clusters are there fewer rows than in them" in choice.why
    assert not choose_from(summarise(blobs(4, 900)), range(2, 10)).weak


def test_evidence_in_one_box_is_weak() -> None:
    rows = np.random.default_rng(2).uniform(size=(1_500, 2))
    choice = choose_from(summarise(rows), range(2, 10))
    assert "one evenly filled box would score" in choice.why
    assert choice.weak
