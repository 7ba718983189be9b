"""Clients that send what no honest client of a mixture can send."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, MessageError, Plan, Schema, run
from fedclust.privacy import CheckedChannel
from fedclust.privacy.fixed_point import FixedPoint
from fedclust.typing import FloatArray

from .hostile import Hostile, Lie

BLOCKS = np.array([0, 0, 1, 1])
OPEN = Schema(4, missing=True, blocks=BLOCKS)
BOX = replace(OPEN, low=np.array([-5.0, -5, 0, 0]), high=np.array([15.0, 15, 1, 1]))
START = np.array([[0.0, 0, 1, 0], [10, 10, 0, 1]])


def federation() -> dict[str, Data]:
    """Two numbers and a category in two clusters, a fifth of the cells missing."""
    rng = np.random.default_rng(0)
    own = rng.integers(0, 2, 300)
    numbers = np.clip(rng.normal(10.0 * own[:, None], 1.0, (300, 2)), -5, 15)
    X = np.column_stack([numbers, own == 0, own == 1]).astype(float)
    holes = rng.random((300, 3)) < 0.2
    X[holes[:, [0, 1, 2, 2]]] = np.nan
    return {f"c{i}": Data.of(X[i::6], missing=True) for i in range(6)}


def plan(**settings: Any) -> Plan:
    """A mixture of two clusters."""
    return Plan(make("llf-mixture", 2, init=START, max_rounds=12, tol=0.0, **settings))


def change(name: str, by: float) -> Lie:
    return lambda request, sums: replace(sums, **{name: getattr(sums, name) * by})


def shift(name: str, by: float, since: int = 0) -> Lie:
    def lie(request: Any, sums: Any) -> Any:
        reported = request.round >= since
        return replace(sums, **{name: getattr(sums, name) + by}) if reported else sums

    return lie


IMPOSSIBLE = {
    "negative masses": change("mass", -1.0),
    "negative cells": change("cells", -1.0),
    "negative squares": change("square", -1.0),
    "a category of negative weight": shift("moved", -1e6),
    "more cells than rows": change("cells", 1.5),
    "more rows than enrolled": shift("mass", 1e6),
    "means beyond the bounds": shift("moved", 1e4),
    "no numbers": change("square", np.nan),
    "infinite": shift("moved", np.inf),
    "far too large": shift("square", 1e308),
}


@pytest.mark.parametrize("lie", IMPOSSIBLE)
def test_who_sends_the_impossible_is_left_out_and_nothing_else_changes(lie: str) -> None:
    data = federation()
    sizes = {name: len(rows) for name, rows in data.items()}
    channel = CheckedChannel(Hostile(data, ("c3",), IMPOSSIBLE[lie]), BOX, records=sizes)
    found = run(plan(), channel, BOX)
    assert channel.left_out.keys() == {"c3"}
    without = run(plan(), LocalChannel({c: d for c, d in data.items() if c != "c3"}), BOX)
    assert found.model.tobytes() == without.model.tobytes()


@pytest.mark.parametrize("name", ["mass", "cells", "moved", "square"])
def test_sums_that_change_are_noticed(name: str) -> None:
    channel = CheckedChannel(Hostile(federation(), ("c1",), shift(name, 0.01, since=2)), OPEN)
    run(plan(), channel, OPEN)
    assert channel.left_out["c1"].startswith("round 2: ")


@pytest.mark.parametrize("schema", [BOX, OPEN])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_honest_clients_are_never_left_out(schema: Schema, far: float) -> None:
    data = federation()
    if far and schema is OPEN:  # columns far from zero lose digits
        away = np.array([far, far, 0, 0])
        data = {c: Data.of(d.X + away, missing=True) for c, d in data.items()}
    data["one"] = Data.of(data["c0"].X[:1], missing=True)
    sizes = {name: len(rows) for name, rows in data.items()}
    channel = CheckedChannel(LocalChannel(data), schema, records=sizes)
    run(plan(), channel, schema)
    assert channel.left_out == {}


def test_honest_clients_on_a_grid_are_never_left_out() -> None:
    """Each posterior is rounded to a step, so sums over all clusters change by a few steps."""
    grid = FixedPoint(tuple(BOX.low), tuple(BOX.high), missing=True)  # type: ignore[arg-type]
    exact = Plan(make("llf-mixture", 2, init=START, max_rounds=12, tol=0.0), (grid,))
    channel = CheckedChannel(LocalChannel(federation()), BOX)
    run(exact, channel, BOX)
    assert channel.left_out == {}


@pytest.mark.parametrize("lie", ["negative masses", "negative squares", "means beyond the bounds"])
def test_totals_that_no_rows_have_end_the_run(lie: str) -> None:
    """As under masks, where no single message can be read."""

    def much(request: Any, sums: Any) -> Any:
        return IMPOSSIBLE[lie](request, change_all(sums, 100.0))

    with pytest.raises(MessageError, match="not those of rows within the public bounds"):
        run(plan(), Hostile(federation(), ("c3",), much), BOX)


def change_all(sums: Any, by: float) -> Any:
    """The message of many more rows."""
    arrays: dict[str, FloatArray] = sums.arrays()
    return replace(sums, **{name: array * by for name, array in arrays.items()})
