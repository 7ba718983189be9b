"""An accepted parameter changes something: each, on some data, changes what is sent or found."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import ALGORITHMS, SEEDINGS
from fedclust.core import AnyAlgorithm, Data, Plan
from fedclust.tiers import transforms_for

from .cases import ALL_KEYS, SCHEMA, K, algorithm, split, trace

# Values that are not the default, with what else has to be set for them to matter. For parameters
# that are not listed `others` makes values by their type.
OTHER: dict[str, list[dict[str, Any]]] = {
    "n_clusters": [{"n_clusters": 4}],
    "init": [{"init": np.random.default_rng(8).normal(scale=4, size=(K, 2))}],
    "max_rounds": [{"max_rounds": 1}],
    "tol": [{"tol": 0.5}],
    "absolute_tol": [{"absolute_tol": True, "tol": 0.3}],
    "fuzzifier": [{"fuzzifier": 1.4}],
    "min_variance": [{"min_variance": 0.5}],
    "center": [{"center": "shares"}],
    "local_steps": [{"local_steps": 2}, {"local_steps": 7}],
    "local_tol": [{"local_tol": 1.0, "local_steps": 5}],
    "restarts": [{"restarts": 1}, {"restarts": 3}],
    "local_restarts": [{"local_restarts": 1}],
    # With several restarts the best solution is mostly the same, whatever the draws.
    "weighted_starts": [{"weighted_starts": False, "restarts": 1, "warm_start": False}],
    "warm_start": [{"warm_start": False, "restarts": 1}],
    "min_count": [{"min_count": 9}, {"min_count": 1}],
    "n_local": [{"n_local": 2}],
    "groups": [{"groups": 3}],
    "steps": [{"steps": 1}],
    "momentum": [{"momentum": 0.5, "learning_rate": 0.1}],
    "min_rounds": [{"min_rounds": 30, "tol": 0.5}],
    "patience": [{"patience": 2, "learning_rate": 0.01, "momentum": 0.9, "tol": 0.0}],
    "scaled": [{"scaled": False, "learning_rate": 0.001}],
    "min_features": [{"min_features": 12}],
    "max_features": [{"max_features": 8}],
    "threshold": [{"threshold": 0.3}],
    "radius_factor": [{"radius_factor": 4.0}],
    "neighbours": [{"neighbours": 3}],
    "fill": [{"fill": np.array([3.0, -2.0])}],
}


TWO_CATEGORIES = replace(SCHEMA, blocks=np.array([1, 1]))  # both columns are of one block


def federations(*, missing: bool = False) -> list[dict[str, Data]]:
    """Several kinds of data: what one parameter cannot change on one, it may on another."""
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-8, 8, size=(120, 2))
        owner = np.minimum(rng.geometric(0.3, 120) - 1, 5)
        if missing:
            X[rng.random(X.shape) < 0.2] = np.nan
            rows = {f"c{c}": Data.of(X[owner == c], missing=True) for c in range(6)}
        else:
            rows = split(X, owner)
        found.append(rows)
    return found


def plan(chosen: AnyAlgorithm) -> Plan:
    return Plan(chosen, transforms_for(chosen, 2, "none"), 1)


def parameters() -> list[tuple[str, str]]:
    kinds = {**SEEDINGS, **ALGORITHMS}
    return [(key, f.name) for key in ALL_KEYS for f in fields(kinds[key])]  # type: ignore[arg-type]


def others(name: str, default: Any) -> list[dict[str, Any]]:
    """Values of the same type as the default."""
    if isinstance(default, bool):
        return [{name: not default}]
    if isinstance(default, int):
        return [{name: default + 1}, {name: max(1, default // 2)}, {name: default + 6}]
    assert isinstance(default, float), f"list a value to try for {name}"
    return [{name: default / 2}, {name: default * 2}, {name: default / 100}]


@pytest.mark.parametrize(("key", "name"), parameters())
def test_every_parameter_changes_some_outcome(key: str, name: str) -> None:
    for change in OTHER.get(name) or others(name, algorithm(key).parameter(name)):
        without = {n: v for n, v in change.items() if n != name}
        k = (
            8 if name in {"restarts", "warm_start", "weighted_starts"} else K
        )  # few clusters are found at any start
        if algorithm(key, k, **without).parameter(name) is change[name]:
            continue  # that is the default
        for data in federations(missing=name == "fill"):
            schema = TWO_CATEGORIES if name == "center" else SCHEMA
            before = trace(plan(algorithm(key, k, **without)), data, schema)
            if before != trace(plan(algorithm(key, **{"n_clusters": k, **change})), data, schema):
                return
    pytest.fail(f"{key}: {name} changes nothing")
