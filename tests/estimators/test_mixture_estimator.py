"""FederatedMixture: probabilities, fit, categories, missing cells, mistakes."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from fedclust import ConfigError, DataError, FederatedFuzzyCMeans, FederatedMixture
from fedclust.typing import FloatArray, IntArray


def mixed(n: int = 300) -> tuple[FloatArray, IntArray]:
    """A number and a category of three codes, from two clusters of unequal size and spread."""
    rng = np.random.default_rng(0)
    own = (rng.random(n) < 0.3).astype(int)
    number = rng.normal(8 * own, 1 + own)
    code = np.where(rng.random(n) < 0.8, 1 + own, 5)
    return np.column_stack([number, code]), own


def test_probabilities_fit_and_numbers_of_clusters() -> None:
    X, own = mixed()
    model = FederatedMixture(2, categories={1: [1, 2, 5]}, random_state=0)
    model.fit(X, clients=np.arange(300) % 4)
    assert (model.labels_ == own).mean() > 0.99  # the larger cluster is number 0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (P.argmax(axis=1) == model.labels_).all()
    assert model.encoded_names_ == ["x0", "x1=1", "x1=2", "x1=5"]
    np.testing.assert_allclose(model.means_[:, 1:].sum(axis=1), 1.0)
    assert model.score(X) * 300 == pytest.approx(model.log_likelihood_)
    parameters = 1 + 2 * (2 + 2)
    assert model.bic_ == pytest.approx(-2 * model.log_likelihood_ + parameters * np.log(300))
    assert model.icl_ >= model.bic_
    assert model.transform(X).shape == (300, 2)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert clone(model).get_params() == model.get_params()


def test_it_finds_what_scikit_learn_finds() -> None:
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(0, 1, (200, 3)), rng.normal(4, 2, (300, 3))])
    model = FederatedMixture(2, tol=1e-8, random_state=0).fit(X, clients=np.arange(500) % 7)
    theirs = GaussianMixture(2, covariance_type="diag", tol=1e-10, n_init=5, random_state=0).fit(X)
    assert model.score(X) == pytest.approx(theirs.score(X), rel=1e-6)


def test_missing_cells_frames_and_rows_without_any_value() -> None:
    X, own = mixed()
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=["dose", "type"])
    model = FederatedMixture(2, categories={"type": [1, 2, 5]}, missing="partial", random_state=0)
    model.fit([frame[:100], frame[100:]])
    assert model.__sklearn_tags__().input_tags.allow_nan
    nothing = np.isnan(X).all(axis=1)
    assert (model.labels_[nothing] == -1).all()
    assert (model.labels_ == own)[~nothing].mean() > 0.9
    assert model.encoded_names_[1:] == ["type=1", "type=2", "type=5"]


def test_masked_sums_find_the_same() -> None:
    X, _ = mixed()
    settings: dict[str, Any] = {"categories": {1: [1, 2, 5]}, "random_state": 0}
    start = np.array([[0.0, 1, 0, 0], [8.0, 0, 1, 0]])
    settings |= {"init": start, "bounds": (-10, 20)}
    clear = FederatedMixture(2, **settings).fit(X, clients=np.arange(300) % 3)
    masked = FederatedMixture(2, privacy="secure", **settings).fit(X, clients=np.arange(300) % 3)
    np.testing.assert_allclose(masked.means_, clear.means_, atol=1e-6)
    np.testing.assert_allclose(masked.variances_, clear.variances_, atol=1e-6)


@pytest.mark.parametrize(
    ("categories", "words"),
    [
        ({1: [1, 2]}, "column 'x1' has .* values that are not listed under categories"),
        ({1: []}, "categories: the list of column 1 is empty"),
        ({1: 5}, "categories: column 1 needs a list of its categories"),
        ({1: ["a", "b"]}, "column 1 has words; give the column by its name"),
        ({"kind": ["a", "b"]}, "'kind' has words, so X must be a data frame with its name"),
        ({7: [1]}, "categories: column 7, but X has 2 columns"),
        ({"kind": [1]}, "categories: X has no column 'kind'"),
        ([1], "categories must be a dict"),
    ],
)
def test_mistakes_about_categories_get_a_sentence(categories: Any, words: str) -> None:
    X, _ = mixed()
    with pytest.raises((ConfigError, DataError), match=words):
        FederatedMixture(2, categories=categories).fit(X)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_words_are_categories_in_data_frames(kind: Any) -> None:
    X, own = mixed()
    words = [None if row % 9 == 0 else f"{int(code)}-fold" for row, code in enumerate(X[:, 1])]
    wanted = np.where([word is None for word in words], np.nan, X[:, 1])
    codes = FederatedMixture(2, categories={1: [1, 2, 5]}, missing="partial", random_state=0)
    codes.fit(np.column_stack([X[:, 0], wanted]), clients=np.arange(300) % 3)
    frame = kind({"dose": X[:, 0], "type": words})
    listed = {"type": ["1-fold", "2-fold", "5-fold", None]}
    model = FederatedMixture(2, categories=listed, missing="partial", random_state=0)
    model.fit(frame, clients=np.arange(300) % 3)
    np.testing.assert_array_equal(model.means_, codes.means_)
    assert model.encoded_names_ == ["dose", "type=1-fold", "type=2-fold", "type=5-fold"]
    assert (model.predict(frame) == own).mean() > 0.95
    tables = [frame[:100], frame[100:]]
    np.testing.assert_array_equal(np.concatenate(model.predict(tables)), model.predict(frame))
    with pytest.raises(DataError, match="column 'type' has 1 values that are not listed"):
        model.predict(kind({"dose": [1.0], "type": ["9-fold"]}))


@pytest.mark.parametrize("listed", [[True, False], ["True", "False"], ["TRUE", "FALSE"]])
def test_truth_values_may_be_words(listed: list[Any]) -> None:
    X, own = mixed()
    for yes, no in ((True, False), ("TRUE", "FALSE"), ("true", "false")):
        if isinstance(listed[0], bool) and isinstance(yes, str):
            continue  # codes are numbers
        column = np.where(own == 1, yes, no).astype(object)
        frame = pd.DataFrame({"dose": X[:, 0], "ill": column})
        model = FederatedMixture(2, categories={"ill": listed}, random_state=0).fit(frame)
        assert (model.labels_ == own).mean() > 0.99


def test_a_table_of_categories_alone_needs_no_bounds() -> None:
    own = np.arange(120) % 2
    X = np.column_stack([own, 1234567 + own])
    categories = {0: [0, 1], 1: [1234567, 1234568]}
    model = FederatedMixture(2, categories=categories, privacy="secure", random_state=0)
    model.fit(X, clients=np.arange(120) % 3)
    assert max((model.labels_ == own).mean(), (model.labels_ != own).mean()) == 1.0
    assert model.encoded_names_ == ["x0=0", "x0=1", "x1=1234567", "x1=1234568"]


def test_a_warm_start_knows_the_columns_of_categories() -> None:
    X, _ = mixed()
    model = FederatedMixture(2, categories={1: [1, 2, 5]}, warm_start=True, random_state=0)
    first = model.fit(X).bic_
    assert model.fit(X).bic_ <= first + 1e-3


def test_fuzzy_c_means_does_not_take_a_mixture() -> None:
    with pytest.raises(ConfigError, match="does not support 'llf-mixture'"):
        FederatedFuzzyCMeans(2, algorithm="llf-mixture").fit(mixed()[0])


def test_other_tiers_are_refused() -> None:
    with pytest.raises(ConfigError, match="no smaller protection than masks is known"):
        FederatedMixture(2, privacy="paper").fit(mixed()[0])


@pytest.mark.parametrize("privacy", ["none", "secure"])
def test_rows_beyond_public_bounds_are_the_user_s_mistake(privacy: str) -> None:
    """Their sums are those of a liar, so the message must not call the client one."""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    model = FederatedMixture(2, bounds=(-1, 1), privacy=privacy)
    with pytest.raises(DataError, match=r"client '0': column 'x0' has values outside its public"):
        model.fit([rows[:30], rows[30:]])
