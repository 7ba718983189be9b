"""Crafted plans: records from clients that answer plans, and none from clients that follow."""

import pytest

from .followed import (
    ATTACKS,
    DATA,
    NOISY,
    Found,
    Outcome,
    attack_followed,
    attack_unprotected,
    rows,
)

pytest.importorskip("cryptography")

QUESTIONS = 30
SILENCE, COHORTS, INERTIA = ATTACKS


@pytest.mark.parametrize(
    ("attack", "name", "least"), [(SILENCE, "digits", 4), (COHORTS, "diabetes", 4)]
)
def test_a_server_that_crafts_plans_takes_records(attack: str, name: str, least: int) -> None:
    assert attack_unprotected(attack, name, QUESTIONS).exact >= least


def test_a_server_that_crafts_centres_takes_records_from_inertia() -> None:
    assert attack_unprotected(INERTIA, "iris").exact >= 1


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("attack", ATTACKS)
def test_clients_that_follow_a_study_lose_none(attack: str, name: str) -> None:
    assert attack_followed(attack, name, QUESTIONS) == Found(exact=0, near=0)


@pytest.mark.parametrize("tier", NOISY)
@pytest.mark.parametrize("attack", ATTACKS)
def test_clients_that_follow_a_noisy_study_lose_none(attack: str, tier: str) -> None:
    pytest.importorskip("opendp")
    assert attack_followed(attack, "iris", QUESTIONS, tier) == Found(exact=0, near=0)


def test_the_table_has_a_line_for_each_attack_and_data_set() -> None:
    found = list(rows(("iris",), QUESTIONS))
    assert [line.attack for line in found] == list(ATTACKS)
    for line in found:
        assert isinstance(line, Outcome)
        assert line.unprotected.near >= line.unprotected.exact > 0
        assert set(line.followed) == {(0, 0)}
