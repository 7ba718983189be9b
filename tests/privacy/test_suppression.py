"""The papers' suppression rules: what they withhold, and what that costs."""

import numpy as np
import pytest

from fedclust import ConfigError, TooFewClients
from fedclust.algorithms import ALGORITHMS, make
from fedclust.algorithms.centers import Candidates, Sums
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, RoundContext, Schema, run
from fedclust.privacy import MinCount, MinSamples
from fedclust.tiers import transforms_for

TURN = RoundContext(0, "a", ("a",), samples=4)


def test_min_count_withholds_clusters_of_few_records() -> None:
    sums = Sums(np.array([5.0, 1.0]), np.ones((2, 3)), np.array([5.0, 1.0]))
    sent = MinCount(2).at_client(sums, TURN)
    assert sent.weight.tolist() == [5.0, 0.0]
    assert sent.total[1].tolist() == [0.0, 0.0, 0.0]
    rows = Candidates(np.ones((2, 3)), np.array([5.0, 1.0]), np.array([5.0, 1.0]))
    assert len(MinCount(2).at_client(rows, TURN).weight) == 1


def test_min_count_counts_people_not_weight() -> None:
    heavy = Sums(np.array([100.0]), np.ones((1, 3)), np.array([1.0]))
    assert MinCount(2).at_client(heavy, TURN).weight.tolist() == [0.0]


def test_min_samples_silences_small_clients() -> None:
    sums = Sums(np.array([5.0]), np.ones((1, 3)))
    assert MinSamples(5).at_client(sums, TURN).is_empty()
    assert MinSamples(4).at_client(sums, TURN) is sums


def test_rules_may_follow_each_other() -> None:
    sums = Sums(np.array([5.0, 3.0, 1.0]), np.ones((3, 2)), np.array([5.0, 3.0, 1.0]))
    once = MinCount(2).at_client(sums, TURN)
    assert MinCount(4).at_client(once, TURN).weight.tolist() == [5.0, 0.0, 0.0]


def test_min_count_is_refused_where_nobody_counts() -> None:
    with pytest.raises(ConfigError, match="llf-fcm does not say how many records .* MinSamples"):
        Plan(make("llf-fcm", 3), (MinCount(2),))


@pytest.mark.parametrize("kind", [MinCount, MinSamples])
def test_a_minimum_is_a_whole_number(kind: type[MinCount] | type[MinSamples]) -> None:
    with pytest.raises(ConfigError, match="an integer"):
        kind(0)


def test_one_word_turns_the_papers_rules_on() -> None:
    assert transforms_for(make("llf-cm", 3), 2, "paper") == (MinCount(2),)
    # N_m > C(F+1)/F: more than 22.5 records for C = 15, F = 2, more than 5 for C = 4, F = 4
    assert transforms_for(make("llf-fcm", 15), 2, "paper") == (MinSamples(23),)
    assert transforms_for(make("llf-fcm", 4), 4, "paper") == (MinSamples(6),)
    assert transforms_for(make("fkm", 3, min_count=5), 2, "paper") == (MinCount(5),)


def test_none_is_no_transform() -> None:
    for key in ALGORITHMS:
        assert transforms_for(make(key, 3), 2, "none") == ()


def test_transforms_can_be_given_and_nonsense_is_refused() -> None:
    own = (MinSamples(9),)
    assert transforms_for(make("llf-cm", 3), 2, own) is own
    with pytest.raises(ConfigError, match="privacy must be one of 'none', 'paper', .* or a tuple"):
        transforms_for(make("llf-cm", 3), 2, "maximal")
    with pytest.raises(ConfigError, match="privacy must be one of"):
        transforms_for(make("llf-cm", 3), 2, ("paper",))  # type: ignore[arg-type]


def test_a_rule_that_silences_everybody_is_an_error_not_a_result() -> None:
    rng = np.random.default_rng(0)
    data = {f"c{i}": Data.of(rng.random((10, 2))) for i in range(3)}
    chosen = make("llf-fcm", 15, init=rng.random((15, 2)))
    plan = Plan(chosen, transforms_for(chosen, 2, "paper"))
    with pytest.raises(TooFewClients, match="privacy rules withheld everything"):
        run(plan, LocalChannel(data), Schema(2))
