"""The registry: every key leads to the class that has it, and looking for one imports no other."""

import json
import subprocess
import sys

import pytest

from fedclust.algorithms import ALGORITHMS, SEEDINGS, VERTICAL, VERTICAL_SEEDINGS
from fedclust.algorithms.registry import PLANS, TRANSFORMS
from fedclust.core.registry import Registry
from fedclust.core.traits import limited_parameters

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
    limited_parameters(PLANS[name])


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
