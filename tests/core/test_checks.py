"""Configuration: every wrong value is refused by field and value."""

import numpy as np
import pytest

from fedclust import ConfigError, make, make_seeding
from fedclust.algorithms import from_config
from fedclust.core import Data
from fedclust.core.random import NO_RANDOMNESS, derive_seed, stream
from fedclust.metrics import Evaluation


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_clusters": 0}, "llf-fcm: n_clusters must be an integer of at least 1, got 0"),
        ({"n_clusters": 2.5}, "n_clusters must be an integer .* got 2.5"),
        ({"n_clusters": True}, "n_clusters must be an integer .* got True"),
        ({"max_rounds": 0}, "max_rounds must be an integer of at least 1, got 0"),
        ({"tol": -1.0}, "tol must be a number of at least 0, got -1.0"),
        ({"tol": float("nan")}, "tol must be a number .* got nan"),
        ({"fuzzifier": 1.0}, "fuzzifier must be a number above 1, got 1.0"),
        ({"fuzzifier": "soft"}, "fuzzifier must be a number above 1, got 'soft'"),
        ({"fuzzifier": 900.0}, "fuzzifier must be small enough"),
        ({"absolute_tol": 1}, "absolute_tol must be True or False, got 1"),
        ({"init": np.zeros((2, 2))}, r"init must be an array of 3 centres, got \(2, 2\)"),
        ({"init": "uniform"}, "init must be an array of 3 centres, got str"),
        ({"init": np.full((3, 2), 1e200)}, "init holds values that are not numbers up to 1e.150"),
        ({"init": np.full((3, 2), "a")}, "init holds values that are not numbers up to 1e.150"),
        ({"init": np.full((3, 2), np.nan)}, "init holds values that are not numbers"),
    ],
)
def test_wrong_values_are_named(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make("llf-fcm", **{"n_clusters": 3, **settings})  # type: ignore[arg-type]


def test_learning_rates_have_an_upper_end() -> None:
    with pytest.raises(ConfigError, match="learning_rate must be a number above 0 and at most 1"):
        make("dwf", 3, learning_rate=1.5)


def test_unknown_keys_get_the_nearest_spelling() -> None:
    with pytest.raises(ConfigError, match="algorithm='llf-fcn' is not one of .* mean 'llf-fcm'"):
        make("llf-fcn", 3)
    with pytest.raises(ConfigError, match="init='carefull' .* did you mean 'careful'"):
        make_seeding("carefull", 3)
    with pytest.raises(ConfigError, match="fkm has no parameter 'fuzziness'; it has n_clusters"):
        make("fkm", 3, fuzziness=2)
    with pytest.raises(ConfigError, match="preset must be 'default' or 'reference', got 'paper'"):
        make("fkm", 3, preset="paper")
    with pytest.raises(ConfigError, match="algorithm='nothing' is not one of"):
        from_config({"algorithm": "nothing", "n_clusters": 3})


def test_what_an_algorithm_lacks_is_said() -> None:
    seeding = make_seeding("uniform", 3)
    with pytest.raises(ConfigError, match="uniform has no preset 'reference'"):
        make_seeding("uniform", 3, preset="reference")
    index = Evaluation(1, np.zeros((1, 2)))
    assert index.lossless
    assert not seeding.lossless
    with pytest.raises(NotImplementedError, match="evaluation does not assign"):
        index.assign(0.0, Data.of([[1.0]]))


def test_random_streams_depend_on_seed_party_and_round_alone() -> None:
    draws = {
        stream(seed, party, number).random()
        for seed in (0, 1)
        for party in ("a", "b", "server")
        for number in (-1, 0, 1)
    }
    assert len(draws) == 18
    assert stream(1, "a", 2).random() == stream(1, "a", 2).random()
    assert derive_seed("x", 1) != derive_seed("x1")


def test_a_random_stream_continues() -> None:
    rng = stream(0, "a", 0)
    assert rng.random() != rng.random()


def test_blends_of_two_rows_are_refused() -> None:
    for key, words in [("careful", "neighbours must be 3 or more"), ("client", "at least 3")]:
        with pytest.raises(ConfigError, match=words):
            make_seeding(key, 3, neighbours=2)


def test_a_step_that_says_it_draws_nothing_is_held_to_it() -> None:
    with pytest.raises(AttributeError, match="rng.random: the client step has no random numbers"):
        NO_RANDOMNESS.random()
