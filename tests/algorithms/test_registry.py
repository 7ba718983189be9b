"""The registry: every key leads to the class that has it, and looking for one imports no other."""

import json
import subprocess
import sys
from dataclasses import dataclass, fields
from importlib.metadata import EntryPoint
from typing import Any, ClassVar, get_type_hints

import pytest

from fedclust.algorithms import (
    ALGORITHMS,
    SEEDINGS,
    VERTICAL,
    VERTICAL_SEEDINGS,
)
from fedclust.algorithms.c_means import CMeans
from fedclust.algorithms.registry import (
    PLANS,
    TRANSFORMS,
    register,
    register_transform,
    summary,
    unregister,
)
from fedclust.core import ConfigError
from fedclust.core.registry import Registry
from fedclust.core.traits import Role, Work, limited_parameters

KEYED = [ALGORITHMS, SEEDINGS, VERTICAL, VERTICAL_SEEDINGS]


@pytest.mark.parametrize("registry", KEYED)
def test_a_key_is_that_of_its_class(registry: Registry[object]) -> None:
    assert [kind.key for kind in registry.values()] == list(registry)  # type: ignore[attr-defined]


def test_a_plan_has_the_name_of_its_class() -> None:
    assert {name: kind.__name__ for name, kind in PLANS.items()} == {n: n for n in PLANS}
    assert {kind for keyed in KEYED for kind in keyed.values()} <= set(PLANS.values())


def test_a_transform_has_the_name_of_its_class() -> None:
    assert {name: kind.__name__ for name, kind in TRANSFORMS.items()} == {n: n for n in TRANSFORMS}


@pytest.mark.parametrize("name", list(PLANS))
def test_every_integer_and_array_has_a_role(name: str) -> None:
    """Else nothing would limit what a server can make a client compute."""
    kind = PLANS[name]
    hints = get_type_hints(kind)
    counted = {f.name for f in fields(kind) if hints[f.name] is int}  # type: ignore[arg-type]
    limited = {parameter.name: parameter.role for parameter in limited_parameters(kind)}
    assert counted <= limited.keys()
    assert all(isinstance(role, Role | Work) for role in limited.values())


def test_what_is_not_listed_is_not_there() -> None:
    assert "os.system" not in PLANS
    with pytest.raises(KeyError):
        PLANS["os.system"]
    assert PLANS.get("system") is None
    assert not set(ALGORITHMS) & set(VERTICAL)


def loaded_after(code: str) -> set[str]:
    """Modules of a fresh interpreter that ran some code."""
    code += "\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_making_one_algorithm_imports_no_other() -> None:
    loaded = loaded_after("import fedclust; fedclust.make('llf-fcm', 3)")
    assert "fedclust.algorithms.fuzzy_c_means" in loaded
    assert not loaded & {"fedclust.algorithms.k_fed", "fedclust.metrics", "scipy", "numba"}


def test_classes_that_are_no_algorithms_are_not_registered() -> None:
    class Plain:
        key = "plain"

    class NoDataclass(CMeans):
        key: ClassVar[str] = "no-dataclass"

    for kind, message in (
        (Plain, "not a subclass of fedclust.core.Algorithm"),
        (NoDataclass, "must be a dataclass"),
    ):
        with pytest.raises(ConfigError, match=message):
            register(kind)
    with pytest.raises(ConfigError, match="must have the key 'other'"):
        ALGORITHMS.add("other", CMeans)
    with pytest.raises(ConfigError, match="not a subclass of fedclust.core.Transform"):
        register_transform(Plain)


def test_a_query_has_no_key_among_algorithms() -> None:
    @dataclass(frozen=True, eq=False)
    class Statistic(CMeans):
        key: ClassVar[str] = "statistic"

    register(Statistic, "query")
    try:
        assert "statistic" not in ALGORITHMS
        assert PLANS["Statistic"] is Statistic
    finally:
        unregister(Statistic)
    assert "Statistic" not in PLANS


def test_an_installed_class_is_checked_when_it_is_loaded() -> None:
    def check(name: str, kind: Any) -> None:
        raise ConfigError("it is not complete")

    registry: Registry[Any] = Registry({}, "some.group", check=check)
    registry.__dict__["_installed"] = {"odd": EntryPoint("odd", "builtins:dict", "some.group")}
    with pytest.raises(ConfigError, match="'odd' of an installed package .*: it is not complete"):
        registry["odd"]


def test_plans_know_installed_classes_by_the_names_of_their_classes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = EntryPoint("tiny", "tiny_package.means:TinyMeans", "fedclust.algorithms")
    monkeypatch.setattr(
        "fedclust.core.registry.entry_points",
        lambda group: [entry] if group == entry.group else [],
    )
    vars(PLANS).pop("_installed", None)
    try:
        assert "TinyMeans" in PLANS
        assert "tiny" not in PLANS
    finally:
        vars(PLANS).pop("_installed", None)


def test_an_algorithm_that_is_not_installed_has_no_summary() -> None:
    """A report is read where the package of its algorithm may be missing."""
    assert summary("llf-cm").endswith(".")
    assert summary("of another package") == ""
