"""What all tests share: draws that repeat, small data sets, and the two backends of the kernels."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from fedclust.core import DataError
from fedclust.datasets import Dataset, load
from fedclust.kernels import _plain, steps

from .support.draws import STREAM, replace_draws
from .support.untraced import compile_untraced

settings.register_profile(
    "fedclust",
    deadline=None,  # machines are noisy, and the first call compiles
    derandomize=True,  # a red build must be red again
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fedclust")
if hasattr(providers, "_get_local_constants") and hasattr(providers, "_local_constants"):
    # It takes examples from the constants of modules that are loaded, which depends on the tests
    # that a process has run before. This is no public setting, and other versions may lack it.
    none = providers._local_constants
    setattr(providers, "_get_local_constants", lambda: none)  # noqa: B010
replace_draws()
compile_untraced()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Iterator[None]:
    """A fixture draws the same, whichever test needs it first."""
    given = getattr(request, "param", "")
    part = given if isinstance(given, str | int) else ""
    with STREAM.of(f"{request.node.nodeid} {request.fixturename} {part}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test draws the same, whatever ran before it."""
    with STREAM.of(item.nodeid):
        return (yield)


# Whole fits, studies and searches over many seeds. Coverage does not trace them: that doubles
# their time, and what it counts are lines that smaller tests run and check.
UNTRACED = (
    "channels/test_schedules.py",
    "client/test_nothing_leaks.py",
    "clustering/choose_k/test_choose.py",
    "clustering/test_starts.py",
    "conformance/test_bad_input.py",
    "estimators/test_estimators.py::test_scikit_learns_own_checks",
    "estimators/test_transformers.py::test_scikit_learns_own_checks",
    "estimators/test_vertical_estimators.py::test_scikit_learns_own_checks",
    "kernels/test_cells.py::test_sums_are_those_of_the_formula[compiled",
    "net",
    "privacy/test_hostile.py::test_a_fifth_of_the_clients",
    "study/test_kills.py",
    "study/test_one_numbering.py",
    "study/test_resume.py::test_a_resumed_run",
    "study/test_study_parity.py",
    "study/test_totals.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests of `UNTRACED` out of coverage, and run them first.

    They compile most of the loops, which takes longer while it is traced.
    """
    untraced = tuple(f"tests/{place}" for place in UNTRACED)
    for item in items:
        if item.nodeid.startswith(untraced):
            item.add_marker("no_cover")
    items.sort(key=lambda item: item.get_closest_marker("no_cover") is None)


@pytest.fixture(params=["compiled", "plain"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on the compiled kernels and on the NumPy ones."""
    if request.param == "plain":
        monkeypatch.setattr(steps, "backend", lambda: _plain)
    else:
        pytest.importorskip("numba")
    return str(request.param)


@pytest.fixture
def public() -> Callable[[str], Dataset]:
    """A public data set, or a skip with the reason where it is not on this machine."""

    def get(name: str) -> Dataset:
        try:
            return load(name, download=False)
        except (DataError, ValueError) as problem:
            pytest.skip(f"data set {name!r} is not on this machine: {problem}")

    return get


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(20240131)
