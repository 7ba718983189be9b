"""Clusters of a summary, and the summary as results may show it."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from fedclust.clustering.summary import (
    DataSummary,
    group_by_centers,
    group_by_shape,
    group_by_tree,
    publish,
)
from fedclust.core import DataError
from fedclust.kernels import nearest

from .cases import blobs, summarise


@pytest.mark.parametrize("k", [1, 3, 4])
def test_groups_cover_all_rows_the_heaviest_first(k: int) -> None:
    summary = summarise(blobs(3, 900))
    for groups in (group_by_centers(summary, k), group_by_tree(summary, k)):
        assert sum(groups.sizes) == 900
        assert list(groups.sizes) == sorted(groups.sizes, reverse=True)
        assert len(groups.centers) == k
        assert groups.share == pytest.approx(0.0 if k == 1 else 0.98, abs=0.03)


def test_by_shape_there_are_as_many_as_gaps_show() -> None:
    X, y = make_moons(1_200, noise=0.06, random_state=0)
    summary = summarise(X)
    groups = group_by_shape(summary)
    assert adjusted_rand_score(y, groups.label[nearest(X, summary.centers)[0]]) > 0.95
    assert len(groups.sizes) == 2


def test_what_is_published_hides_few_rows() -> None:
    X = np.vstack([blobs(3, 900), [[90.0, 90.0], [-90.0, 20.0]]])  # two rows that are far away
    exact, shown = summarise(X), None
    shown = publish(exact, 5)
    assert exact.weight.min() == 1
    assert shown.weight.min() >= 5
    assert shown.rows == len(X)
    assert not (shown.borders % 5).any()
    assert not np.isin(shown.centers, exact.centers).any()
    assert publish(exact, 0) is exact
    found, wanted = (group_by_centers(s, 3).centers for s in (shown, exact))
    apart = np.abs(found[:, None] - wanted).max(axis=2).min(axis=1)
    assert apart.max() < 1.5


@pytest.mark.parametrize("rows", [400, 1_000])
def test_rounded_borders_do_not_divide_shapes(rows: int) -> None:
    X, y = make_moons(1_000, noise=0.05, random_state=rows)
    shown = publish(summarise(X, n_micro=80), 5)
    found = group_by_shape(shown).label[nearest(X, shown.centers)[0]]
    assert adjusted_rand_score(y, found) >= 0.95
    cloud = np.random.default_rng(rows).exponential(size=(rows, 2))
    assert len(group_by_shape(publish(summarise(cloud, n_micro=80), 5)).sizes) == 1
    again = DataSummary.from_config(json.loads(json.dumps(shown.as_config())))
    assert again.shapes == shown.shapes
    with pytest.raises(DataError, match="shapes must be a number of every micro-cluster"):
        DataSummary.from_config({**shown.as_config(), "shapes": [900] * len(shown)})


def test_one_row_more_makes_no_visible_difference_to_most_numbers() -> None:
    X = blobs(3, 1_500)
    first, second = (publish(summarise(rows), 5) for rows in (X, X[1:]))
    if len(first) == len(second):
        same = np.isclose(first.centers, second.centers).mean()
        assert same > 0.5  # rows that change cluster move some of them by a step


def test_joining_keeps_mean_and_squares() -> None:
    exact = DataSummary(
        np.array([[0.0], [1.0], [10.0]]),
        np.array([1.0, 50.0, 50.0]),
        np.array([[0.0], [4.0], [4.0]]),
        np.array([[0.0, 1.0, 0.0], [20.0, 0.0, 30.0], [0.0, 50.0, 0.0]]),
    )
    shown = publish(exact, 5)
    assert shown.weight.tolist() == [51.0, 50.0]
    assert shown.borders.tolist() == [[0.0, 30.0], [50.0, 0.0]]
    assert shown.mean == pytest.approx(exact.mean, abs=0.5)
    assert shown.total_inertia == pytest.approx(exact.total_inertia, rel=0.2)
