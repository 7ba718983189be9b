"""Fuzzy clustering features: what they conserve, and what the published variant drops."""

import numpy as np
import pytest

from fedclust.kernels.features import (
    Features,
    SummarySettings,
    condense,
    drop_lightest,
    join_small,
    merge_similar,
    summarise,
)
from fedclust.typing import FloatArray

EXACT = SummarySettings(5, 30, 1.0, 1.0, 2.0, exact=True)
PUBLISHED = EXACT._replace(exact=False)


def rows(n: int = 400, F: int = 2) -> FloatArray:
    rng = np.random.default_rng(0)
    return rng.normal(rng.integers(0, 4, n)[:, None] * 8.0, 1.0, (n, F))


def test_mass_and_linear_sum_are_conserved() -> None:
    for F in (2, 12):
        X = rows(F=F)
        features = summarise(X, np.empty(0), EXACT)
        assert features.mass.sum() == pytest.approx(len(X))  # I8
        np.testing.assert_allclose(features.linear.sum(axis=0), X.sum(axis=0))
        assert len(features.mass) < EXACT.max_features


def test_the_published_variant_conserves_mass_until_it_drops_features() -> None:
    few = summarise(rows(40), np.empty(0), PUBLISHED._replace(max_features=100))
    assert few.mass.sum() == pytest.approx(40)  # I8
    many = summarise(rows(400, 12), np.empty(0), PUBLISHED)
    assert many.mass.sum() < 0.5 * 400


def test_weights_are_conserved() -> None:
    X, w = rows(100), np.random.default_rng(1).random(100) + 0.5
    assert summarise(X, w, EXACT).mass.sum() == pytest.approx(w.sum())


def test_exact_joining_keeps_the_square_exact() -> None:
    X = rows(6)
    each = Features.of(X, np.ones(6))
    joined = condense(each, 1)
    np.testing.assert_allclose(joined.centers()[0], X.mean(axis=0))
    assert joined.square[0] == pytest.approx(((X - X.mean(axis=0)) ** 2).sum())


def test_similar_features_are_joined_most_similar_first() -> None:
    features = Features(
        np.array([[0.0], [2.0], [2.4]]), np.ones(3), np.ones(3), np.ones(3), np.ones(3)
    )
    once = merge_similar(features, 1.0, exact=False)
    assert once.centers().ravel().tolist() == [0.0, 2.2]
    assert len(merge_similar(features, 50.0).mass) == 3
    assert len(merge_similar(features._replace(linear=np.zeros((3, 1))), 1.0).mass) == 1


def test_light_features_are_joined_before_they_are_sent() -> None:
    features = Features.of(rows(7), np.ones(7))
    sent = join_small(features, 2.0)
    assert (sent.mass >= 2).all()
    assert sent.mass.sum() == pytest.approx(7)
    assert len(join_small(features.take(np.array([0])), 2.0).mass) == 0
    heavy = Features.of(rows(7), np.full(7, 100.0))  # one record each, whatever its weight
    assert (join_small(heavy, 2.0).records >= 2).all()


def test_the_lightest_features_are_dropped() -> None:
    features = Features.of(rows(3), np.array([3.0, 1.0, 2.0]))
    assert drop_lightest(features, 2).mass.tolist() == [3.0, 2.0]


def test_rows_on_a_feature_are_absorbed_by_it() -> None:
    X = np.repeat(np.array([[0.0, 0.0], [9.0, 9.0]]), 30, axis=0)
    features = summarise(X, np.empty(0), EXACT)
    assert np.isfinite(features.centers()).all()
    assert features.mass.sum() == pytest.approx(60)
