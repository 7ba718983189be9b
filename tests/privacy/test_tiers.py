"""One word for how far a run is protected, and what may be said about it."""

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fedclust import ConfigError, FederatedFuzzyCMeans, FederatedKMeans
from fedclust.algorithms import ALGORITHMS, make
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import cluster
from fedclust.core import ClientSampling, Schema, Summed, Transform
from fedclust.privacy import FixedPoint, GroupedRows, MinCount, QueryLimit
from fedclust.tiers import (
    TIERS,
    Guarantee,
    Guarded,
    Private,
    Secure,
    SecurePrivate,
    guarantee,
    tier_of,
    transforms_for,
)
from fedclust.typing import FloatArray

BOX = Schema(2, low=np.zeros(2), high=np.ones(2))


def rows(n: int = 600, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    centers = np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.8]])
    return np.clip(rng.normal(centers[rng.integers(0, 3, n)], 0.05), 0, 1)


def test_every_word_is_a_tier_with_a_promise() -> None:
    assert list(TIERS) == ["none", "paper", "guarded", "secure", "dp", "secure+dp"]
    for word in TIERS:
        said = guarantee(word)
        assert isinstance(said, Guarantee)
        assert said.tier == word
        assert word in str(said)
    assert len({guarantee(word).words for word in TIERS}) == len(TIERS)
    assert guarantee("dp").parameters["epsilon"] == 1.0
    assert "epsilon=0.5" in guarantee(SecurePrivate(epsilon=0.5)).words
    assert "groups of 7 or more" in guarantee(Guarded(group_size=7)).words
    assert "exact" in guarantee("secure").words


def test_only_tiers_that_change_nothing_are_called_exact() -> None:
    exact = {word for word in TIERS if guarantee(word).exact}
    assert exact == {"none", "secure"}
    assert not guarantee((MinCount(2),)).exact


@pytest.mark.parametrize("tier", ["secure", "secure+dp"])
def test_a_channel_is_protected_once(tier: str) -> None:
    """Keys are exchanged for a study, not for each of its questions."""
    there = LocalChannel({name: rows(50, seed) for seed, name in enumerate("abc")})
    protected = tier_of(tier).channel(there)
    assert protected is not there
    assert tier_of(tier).channel(protected) is protected


def test_a_promise_of_chosen_transforms_is_theirs() -> None:
    said = guarantee((MinCount(2),))
    assert said.parameters == {"chosen": ["MinCount(count=2)"]}


# The sums of a mixture over few rows show these rows, and groups of near rows have no variances.
GUARDED = [key for key, kind in ALGORITHMS.items() if not kind.traits.needs_masks]


def test_mixtures_are_not_run_guarded() -> None:
    data = LocalChannel({c: rows()[i::3] for i, c in enumerate("abc")})
    assert set(ALGORITHMS) - set(GUARDED) == {"llf-mixture"}
    with pytest.raises(ConfigError, match="no smaller protection than masks is known"):
        cluster(make("llf-mixture", 3), data, BOX, privacy="guarded")


def test_tiers_are_their_transforms() -> None:
    def kinds(transforms: tuple[Transform, ...]) -> list[type]:
        return [type(t) for t in transforms]

    cm = make("llf-cm", 3)
    for key in GUARDED:
        assert transforms_for(make(key, 3), 2, "guarded") == (QueryLimit(50), GroupedRows(5))
    assert kinds(transforms_for(cm, BOX, "secure")) == [QueryLimit, FixedPoint]
    with pytest.raises(ConfigError, match="no public bounds"):
        transforms_for(cm, 2, "secure")


@pytest.mark.parametrize("key", [k for k, a in ALGORITHMS.items() if not issubclass(a.up, Summed)])
@pytest.mark.parametrize("tier", ["secure", "dp", "secure+dp"])
def test_messages_that_stack_are_refused_by_name(key: str, tier: str) -> None:
    lossless = "llf-fcm" if make(key, 3).soft else "llf-cm"
    with pytest.raises(
        ConfigError,
        match=f"messages of '{key}' stack, .* use algorithm='{lossless}', with init='cells'",
    ):
        cluster(make(key, 3), LocalChannel({c: rows() for c in "abc"}), BOX, privacy=tier)


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm", "ffcm-avg1", "ewf", "dwf", "gdf-fcm"])
def test_what_sums_runs_secure(key: str) -> None:
    X = rows()
    data = {c: X[i::3] for i, c in enumerate("abc")}
    found = cluster(make(key, 3), LocalChannel(data, strict=True), BOX, privacy="secure", seed=1)
    order = np.argsort(found.centers[:, 0])
    np.testing.assert_allclose(
        found.centers[order], [[0.2, 0.2], [0.5, 0.8], [0.8, 0.2]], atol=0.05
    )
    assert found.guarantee.tier == "secure"
    assert np.isfinite(found.inertia)


@pytest.mark.parametrize("key", ["llf-cm", "llf-fcm"])
def test_secure_is_exact_however_the_rows_are_dealt(key: str) -> None:
    X = rows()
    owner = np.random.default_rng(0).integers(0, 7, len(X))
    dealt = [{c: X[i::3] for i, c in enumerate("abc")}, {f"c{i}": X[owner == i] for i in range(7)}]
    found = [
        cluster(make(key, 3), LocalChannel(data), BOX, privacy="secure", seed=1).centers.tobytes()
        for data in dealt
    ]
    assert found[0] == found[1]


def test_other_seedings_stack_and_are_refused_when_secure() -> None:
    data = LocalChannel({c: rows() for c in "abc"})
    with pytest.raises(ConfigError, match="messages of 'careful' stack"):
        cluster(make("llf-cm", 3), data, BOX, privacy="secure", init="careful")
    for init in ("cells", "uniform", np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.8]])):
        found = cluster(make("llf-cm", 3), data, BOX, privacy="secure", init=init)
        assert found.centers.shape == (3, 2)
    plain = cluster(make("llf-cm", 3), data, BOX, init="cells")
    assert plain.centers.shape == (3, 2)


def test_runs_are_cut_where_clients_stop_answering() -> None:
    tables = {c: np.random.default_rng(i).random((300, 2)) for i, c in enumerate("abc")}
    data = LocalChannel(tables)
    long: Any = make("llf-cm", 8, tol=0.0, max_rounds=300)
    found = cluster(long, data, BOX, privacy="secure")
    assert found.run.n_rounds <= 40
    soft = cluster(make("llf-fcm", 3, tol=0.0), LocalChannel(tables), BOX, privacy="guarded")
    assert soft.run.n_rounds <= 40
    short = cluster(make("llf-cm", 3, max_rounds=2, tol=0.0), data, BOX, privacy="secure")
    assert short.run.n_rounds == 2


def test_noise_allows_one_start_and_no_score() -> None:
    data = LocalChannel({c: rows() for c in "abc"})
    with pytest.raises(ConfigError, match="n_init must be 1 with privacy='dp', got 2"):
        cluster(make("llf-cm", 3), data, BOX, privacy="dp", n_init=2)
    found = cluster(make("llf-cm", 3), data, BOX, privacy="dp")
    assert np.isnan(found.inertia)
    assert found.converged


def test_a_sample_of_clients_is_refused_when_secure() -> None:
    data = LocalChannel({c: rows() for c in "abcd"})
    with pytest.raises(ConfigError, match="asks every client in every round"):
        cluster(make("llf-cm", 3), data, BOX, privacy="secure", sampling=ClientSampling(0.5))


@pytest.mark.parametrize(
    "tier",
    [
        lambda: Guarded(group_size=2),
        lambda: Guarded(max_queries=0),
        lambda: Secure(min_cohort=2),
        lambda: SecurePrivate(min_cohort=2),
        lambda: SecurePrivate(rounds=0),
        lambda: SecurePrivate(seed_share=1.0),
    ],
)
def test_settings_of_tiers_are_checked(tier: Any) -> None:
    with pytest.raises(ConfigError, match="must be a"):
        tier()


@pytest.mark.parametrize("word", TIERS)
@pytest.mark.parametrize("estimator", [FederatedKMeans, FederatedFuzzyCMeans])
def test_estimators_take_the_word(estimator: Any, word: str) -> None:
    X = rows(3000)
    model = estimator(3, privacy=word, bounds=(0.0, 1.0), random_state=0, max_rounds=None, tol=1e-3)
    if "dp" in word:
        model.set_params(tol=None)
    model.fit(X, clients=np.arange(3000) % 4)
    order = np.argsort(model.cluster_centers_[:, 0])
    np.testing.assert_allclose(
        model.cluster_centers_[order],
        [[0.2, 0.2], [0.5, 0.8], [0.8, 0.2]],
        atol=0.1 if "dp" in word else 0.06,  # noise has a standard deviation of 0.015 here
    )


def test_a_tier_is_itself() -> None:
    own = Guarded(group_size=7)
    assert tier_of(own) is own


@pytest.mark.parametrize("key", GUARDED)
def test_every_algorithm_runs_guarded(key: str) -> None:
    X = rows()
    data = LocalChannel({c: X[i::3] for i, c in enumerate("abc")})
    found = cluster(make(key, 3), data, BOX, privacy="guarded", seed=1)
    assert found.centers.shape == (3, 2)
    assert np.isfinite(found.inertia)


@pytest.mark.filterwarnings("ignore:only . of n_clusters")
def test_estimators_warn_of_clusters_that_noise_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opendp")
    drawn = "fedclust.privacy.noise.gaussian"
    monkeypatch.setattr(drawn, lambda scale, n: np.zeros(n, dtype=np.int64))
    tables = {name: rows(40, seed) for seed, name in enumerate("abc")}
    model = FederatedKMeans(3, privacy="dp", bounds=([0, 0], [1, 1]), random_state=0)
    with pytest.warns(UserWarning, match="too few rows for the noise"):
        model.fit(tables)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"privacy": "secure", "max_rounds": 41},
            "ends a run of 'llf-cm' after 40 rounds",
        ),
        ({"privacy": "guarded", "max_rounds": 99}, "max_rounds=99: .*give 40 or fewer"),
        ({"privacy": "dp", "tol": 0.1}, "tol=0.1: with privacy='dp' .*give max_rounds, not tol"),
    ],
)
def test_estimators_refuse_what_a_tier_would_cut(settings: Any, words: str) -> None:
    model = FederatedKMeans(3, bounds=(0.0, 1.0), random_state=0, **settings)
    with pytest.raises(ConfigError, match=words):
        model.fit(rows(300), clients=np.arange(300) % 4)


def test_estimators_give_noise_its_rounds() -> None:
    pytest.importorskip("opendp")
    quiet = Private(epsilon=50.0)  # so that no cluster is lost, whatever is drawn
    model = FederatedKMeans(3, privacy=quiet, bounds=(0.0, 1.0), max_rounds=5, random_state=0)
    model.fit(rows(3000), clients=np.arange(3000) % 4)
    assert model.n_rounds_ == 5
    assert model.guarantee_.parameters["rounds"] == 5


def test_estimators_say_that_the_tier_ended_a_run() -> None:
    model = FederatedFuzzyCMeans(6, privacy="guarded", tol=0.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="40 rounds; privacy='guarded' allows no more"):
        model.fit(np.random.default_rng(0).random((600, 2)), clients=np.arange(600) % 3)
