"""What the attacks recover, tier by tier: where a number falls to zero, and where it does not."""

import numpy as np
import pytest

from fedclust.tiers import Guarded
from fedclust.typing import FloatArray

from . import differencing, halfspaces
from .server import EVERYBODY, Look, dealt, exact, table, watched
from .table import (
    ATTACKS,
    TIERS,
    aggregate,
    crafted,
    differences,
    lines,
    seeds,
    small_fuzzy,
)

PROTECTED = ("guarded", "secure", "dp", "secure+dp")


def test_differences_of_one_run_give_records_of_single_clients() -> None:
    """The papers' minimum of two does not change it."""
    assert differences("diabetes", "none")[0] >= 100
    assert differences("diabetes", "paper")[0] >= 5


@pytest.mark.parametrize("tier", PROTECTED)
@pytest.mark.parametrize("name", ["iris", "wine", "diabetes"])
def test_no_record_of_a_single_client_under_protection(name: str, tier: str) -> None:
    assert differences(name, tier)[0] == 0


def test_ten_starts_give_a_third_of_all_records() -> None:
    """From a start of one query: the races of the default start would take the attack minutes."""
    found, of = differences("diabetes", "none", 10, start="careful")
    assert found > of / 3


def test_ten_starts_are_not_answered_under_masks() -> None:
    X, k = table("diabetes")
    server, outcome = watched(dealt(X, 5, 0), k, "secure", n_init=10)
    assert outcome is None
    assert max(data.policy.ledger.n_queries for data in server._data.values()) <= 50


@pytest.mark.parametrize("tier", ["guarded", "secure"])
def test_ten_starts_give_no_record_under_protection(tier: str) -> None:
    assert differences("diabetes", tier, 10)[0] == 0


def test_sums_of_all_clients_still_differ_by_one() -> None:
    """Masks hide whose a record is, not that it moved: noise or grouped rows do."""
    assert aggregate("diabetes", "secure")[0] >= 1
    for tier in ("guarded", "dp", "secure+dp"):
        assert aggregate("diabetes", tier)[0] == 0


def test_crafted_centres_give_records_until_the_answers_stop() -> None:
    assert crafted("iris", "none", 60)[0] >= 15
    assert crafted("iris", "paper", 60)[0] >= 10
    for tier in ("guarded", "dp", "secure+dp"):
        assert crafted("iris", tier, 60)[0] == 0
    # Of all clients together, and no more than 50 questions.
    assert 0 < crafted("iris", "secure", 60)[0] < 50


@pytest.mark.parametrize("tier", ["none", "paper"])
def test_fuzzy_sums_give_all_records_of_a_small_client(tier: str) -> None:
    assert small_fuzzy("iris", tier) == (5, 5)


@pytest.mark.parametrize("tier", PROTECTED)
def test_fuzzy_sums_give_none_under_protection(tier: str) -> None:
    assert small_fuzzy("iris", tier)[0] == 0


def test_seeds_as_printed_are_rows_and_ours_are_not() -> None:
    assert seeds("iris", "none")[0] >= 10
    assert all(seeds("iris", tier)[0] == 0 for tier in PROTECTED)


def test_even_an_oracle_finds_no_record_in_differences_of_grouped_rows() -> None:
    """Any unions of up to two clusters, any rounds or starts, and no check but the truth."""
    X, k = table("wine")
    found = {"guarded": 0, "none": 0}
    for seed in range(3):
        for name, tier in (("guarded", Guarded()), ("none", "none")):
            server, _ = watched(dealt(X, 3, seed), k, tier, n_init=4, seed=seed)
            looks = [look for look in server.looks() if look.who != EVERYBODY]
            found[name] += _oracle(looks, X)
    assert found["guarded"] == 0
    assert found["none"] >= 3 * 30, "the same search finds records where nothing guards"


def _oracle(looks: list[Look], X: FloatArray) -> int:
    found = []
    for who in {look.who for look in looks}:
        count, total = [], []
        for look in looks:
            if look.who == who and len(look.count) == 3:
                unions = np.vstack([np.eye(3), 1 - np.eye(3), np.ones((1, 3))])
                count.append(unions @ look.count)
                total.append(unions @ look.total)
        n, S = np.concatenate(count), np.vstack(total)
        more, less = np.nonzero(np.abs(n[:, None] - n - 1.0) < 1e-6)
        found += [S[more] - S[less], S[np.abs(n - 1.0) < 1e-6]]
    return exact(np.unique(np.vstack(found).round(8), axis=0), X)


def test_the_attacks_find_nothing_where_nothing_is() -> None:
    """Sums that belong to no rows: what is found would be found in anything."""
    rng = np.random.default_rng(0)
    X, k = table("iris")
    server, _ = watched(dealt(X, 5, 0), k, "none")
    noise = [
        Look(look.who, look.centers, look.count, look.total + rng.normal(0, 0.3, look.total.shape))
        for look in server.looks()
    ]
    assert exact(differencing.recovered(noise), X) == 0
    assert len(halfspaces.recovered(lambda centers: None, 4, 50)) == 0


@pytest.mark.slow
def test_the_table_of_the_docs_is_the_programs_output() -> None:
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text()
    for line in lines():
        assert line in page


def test_the_table_has_every_attack_and_tier() -> None:
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text()
    assert all(f"| {title} |" in page for title in ATTACKS)
    assert all(f"`{tier}`" in page for tier in TIERS)
