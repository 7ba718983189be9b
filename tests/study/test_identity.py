"""Clusters are numbered by a rule that does not depend on the seed, and keep their numbers."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust import ConfigError, load
from fedclust.clustering.numbering import sort_by_size
from fedclust.study import read_study
from fedclust.study.identity import match_ids
from fedclust.study.run import run_study

from .example import SMALLEST, write

BEFORE = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])


@given(st.permutations(range(4)))
def test_the_order_in_which_clusters_were_found_does_not_matter(order: list[int]) -> None:
    sizes = np.array([7, 9, 7, 3])
    assert [order[i] for i in sort_by_size(sizes[order], BEFORE[order])] == [1, 0, 2, 3]


@settings(max_examples=50)
@given(st.permutations(range(4)), st.integers(0, 99))
def test_clusters_that_moved_a_little_keep_their_numbers(order: list[int], seed: int) -> None:
    moved = BEFORE[order] + np.random.default_rng(seed).uniform(-3, 3, (4, 2))
    assert match_ids(moved, BEFORE, (1, 2, 3, 7)) == [(1, 2, 3, 7)[i] for i in order]


def test_a_cluster_that_was_not_there_gets_a_new_number() -> None:
    now = np.vstack([BEFORE[:3], [[60.0, 60.0], [80.0, 80.0]]])
    assert match_ids(now, BEFORE, (1, 2, 3, 4)) == [1, 2, 3, 5, 6]
    assert match_ids(BEFORE[2:3], BEFORE, (1, 2, 3, 4)) == [3]
    assert match_ids(BEFORE[:2], BEFORE[:1], (4,)) == [4, 5]


def test_next_months_run_keeps_this_months_numbers(tmp_path: Path) -> None:
    study = read_study(write(tmp_path))
    first = run_study(study, tmp_path / "may").model
    south = tmp_path / "south.csv"
    more = [f"new{i},{60 + i % 5}.0,{70 + i % 7}.0,f" for i in range(90)]
    south.write_text(south.read_text() + "\n".join(more) + "\n")  # the smaller is now the larger
    alone = run_study(study, tmp_path / "june").model
    second = run_study(study, tmp_path / "like", match=load(tmp_path / "may")).model
    ages = [model.centers_in_units[:, 0] for model in (first, second)]
    assert np.argsort(ages[0]).tolist() == np.argsort(ages[1]).tolist()
    assert second.ids == (0, 1)
    assert set(map(tuple, alone.centers)) == set(map(tuple, second.centers))
    assert second.about is not None
    assert second.about.matched_run == "study"


def test_other_columns_cannot_be_matched(tmp_path: Path) -> None:
    first = run_study(read_study(write(tmp_path)), tmp_path / "may").model
    path = write(tmp_path, SMALLEST + "[features]\nage = {}\n")
    with pytest.raises(
        ConfigError, match="--match-run: the earlier run has the columns age, weight"
    ):
        run_study(read_study(path), tmp_path / "june", match=first)
