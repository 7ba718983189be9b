"""Questions that beat the guard of earlier versions, against rows and against grouped rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.client.endpoint import ClientEndpoint
from fedclust.clustering.preparation.statistics import Histogram, Moments
from fedclust.core import Plan, Request, Schema, Transform
from fedclust.core.codec import encode_request
from fedclust.core.wire import unpack
from fedclust.privacy import QueryLimit
from fedclust.typing import FloatArray

from . import guarded
from .followed import Found
from .guarded import GROUPED, fuzzy_plans, other_seeds
from .hostile import (
    OPEN,
    Victim,
    alone_in_the_row_space,
    crafted_centers,
    from_counts_that_differ_by_one,
    outermost_records,
    table_of,
    used_rows,
)
from .server import exact

SETS = ("iris", "diabetes", "digits", "blobs")


def assert_no_record(found: FloatArray, X: FloatArray) -> None:
    assert (exact(found, X), exact(found, X, within=1e-3)) == (0, 0)


def test_other_seeds_of_one_look_give_records_of_rows_and_none_of_groups() -> None:
    total = 0
    for name in SETS:
        X = table_of(name, 60)
        found = exact(other_seeds(Victim(X, OPEN)), X)
        assert found >= 5
        total += found
        assert_no_record(other_seeds(Victim(X, GROUPED)), X)
    assert total >= 40


@pytest.mark.parametrize("name", SETS)
def test_kinks_of_inertia_are_records_of_rows_and_none_of_groups(name: str) -> None:
    X = table_of(name, 60)
    assert exact(outermost_records(Victim(X, OPEN), 0, 3), X) >= 1
    assert_no_record(outermost_records(Victim(X, GROUPED), 0, 3), X)


@pytest.mark.parametrize("name", SETS)
def test_no_combination_of_sums_is_a_record_of_grouped_rows(name: str) -> None:
    """All answers together: the row space of all memberships, not unions of a few."""
    X = table_of(name, 90)
    centers = crafted_centers(X, 80, seed=0)
    for transforms, most in ((OPEN, 90), (GROUPED, 0)):
        victim = Victim(X, transforms)
        looks = [look for look in map(victim.sums, centers) if look is not None]
        differences = from_counts_that_differ_by_one([(look.count, look.total) for look in looks])
        alone = alone_in_the_row_space(used_rows(victim, transforms), centers)
        if most:
            assert alone >= 45
            assert exact(differences, X) >= 5
        else:
            assert alone == 0
            assert_no_record(differences, X)


@pytest.mark.parametrize("name", SETS)
def test_fuzzy_sums_of_many_plans_give_rows_and_none_of_groups(name: str) -> None:
    """Each plan has one round, so that a limit on the rounds of a plan does not help."""
    X = table_of(name, 10)[:, ::3]  # of digits, columns in which few rows are equal
    assert exact(fuzzy_plans(Victim(X, OPEN)), X, within=1e-3) >= 6
    assert_no_record(fuzzy_plans(Victim(X, GROUPED)), X)


def test_the_table_has_a_line_for_each_attack_and_data_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = {OPEN: Found(3, 4), GROUPED: Found(0, 0)}
    monkeypatch.setattr(guarded, "recover", lambda attack, name, transforms: found[transforms])
    table = list(guarded.lines(("iris", "wine")))
    assert len(table) == 2 + 2 * len(guarded.ATTACKS)
    assert table[2] == "| other seeds of one-shot algorithms | iris | 60 | 3 (4) | 0 (0) |"


# Statistics, asked of a client's endpoint


def kit(folder: Path, X: FloatArray, gaps: dict[tuple[int, int], str], consent: str) -> Any:
    folder.mkdir(parents=True)
    names = [f"x{f}" for f in range(X.shape[1])]
    lines = [",".join(["person", *names])]
    for i, row in enumerate(X):
        cells = [gaps.get((i, f), repr(float(value))) for f, value in enumerate(row)]
        lines.append(",".join([str(i), *cells]))
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    text = f'[data]\nfile = "people.csv"\nid = "person"\n[consent]\n{consent}\n'
    (folder / "client.toml").write_text(text)
    return ClientEndpoint(folder, "v", "s")


def statistic(
    site: Any, algorithm: Any, names: list[str], transforms: tuple[Transform, ...]
) -> tuple[dict[str, Any], str]:
    """The arrays of an answer over encoded columns, or why it was refused."""
    down = algorithm.broadcast(algorithm.start(Schema(len(names)), np.random.default_rng(0)))
    raw = encode_request(
        Plan(algorithm, transforms),
        Request(0, ("v",), down),
        id="/1",
        about={"study": "s"},
        data={"columns": [{"name": name, "categories": []} for name in names]},
    )
    answer = unpack(site.answer(raw))
    return dict(answer.arrays), str(answer.header.get("why", ""))


@pytest.mark.parametrize("name", SETS)
def test_moments_beside_one_column_less_give_the_row_with_a_gap_and_no_row_of_groups(
    tmp_path: Path, name: str
) -> None:
    X = table_of(name, 60)
    F = X.shape[1]
    names, gaps = [f"x{f}" for f in range(F)], {(17, F - 1): ""}
    for transforms in (OPEN, (QueryLimit(50), *GROUPED)):
        place = tmp_path / str(len(transforms))
        site = kit(place, X, gaps, 'privacy = "guarded"' if transforms else "")
        query = Moments(min_count=5, whole_rows=True)
        every, why = statistic(site, query, names, transforms)
        fewer, _ = statistic(site, query, names[:-1], transforms)
        assert why == ""
        apart = fewer["count"][0] - every["count"][0]
        row = (fewer["total"] - every["total"][:-1])[None]
        if transforms:
            assert apart == 0 or apart >= 5
            assert_no_record(row, X[:, :-1])
        else:
            assert apart == 1
            assert exact(row, X[:, :-1]) == 1


def test_edges_of_histograms_are_descriptions_of_a_column(tmp_path: Path) -> None:
    """Halving an edge would give the fifth-largest value of a column, in the open too."""
    X = table_of("diabetes", 60)[:, :2]
    site = kit(tmp_path / "a", X, {}, "min_count = 5")
    low, high, answered = 0.0, 1.0, 0
    for _ in range(30):
        edge = (low + high) / 2
        query = Histogram(np.array([edge - 1.0]), np.array([edge + 1.0]), n_bins=2)
        sent, why = statistic(site, query, ["x0"], OPEN)
        if why:
            assert "different bounds or categories" in why
            break
        answered += 1
        low, high = (edge, high) if sent["counts"][0, 1] >= 5 else (low, edge)
    assert answered == 3
    assert high - low > 0.1


@pytest.mark.parametrize("name", SETS)
def test_halved_edges_give_a_value_of_rows_and_none_of_groups(name: str) -> None:
    """The fifth-largest value of a column, from a client that answers any number of edges."""
    X = table_of(name, 60)[:, :1]
    found = {}
    for transforms in (OPEN, GROUPED):
        victim, low, high = Victim(X, transforms), 0.0, 1.0
        for _ in range(40):
            edge = (low + high) / 2
            query = Histogram(np.array([edge - 1.0]), np.array([edge + 1.0]), n_bins=2)
            low, high = (edge, high) if victim.ask(query).counts[0, 1] >= 5 else (low, edge)
        found[transforms] = float(np.abs(X[:, 0] - low).min())
    assert found[OPEN] < 1e-9
    means = used_rows(Victim(X, GROUPED), GROUPED)
    coincides = np.abs(X - np.unique(means).reshape(1, -1)).min() < 1e-6  # a mean that is a value
    assert found[GROUPED] > 1e-6 or coincides


def test_an_answer_is_never_silence() -> None:
    """Whether one row or none moved does not show: no sum is withheld or repeated."""
    X = table_of("iris", 60)
    victim = Victim(X, GROUPED)
    for centers in crafted_centers(X, 30, seed=1):
        look = victim.sums(centers)
        assert look is not None
        assert look.count.sum() == len(X)
        assert ((look.count == 0) | (look.count >= 5)).all()
