"""What all tests share: small data sets, and the two backends of the kernels."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from fedclust.core import DataError
from fedclust.datasets import Dataset, load
from fedclust.kernels import _plain, steps

settings.register_profile(
    "fedclust",
    deadline=None,  # machines are noisy, and the first call compiles
    derandomize=True,  # a red build must be red again
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fedclust")


HERE = Path(__file__).parent
# Whole fits, studies and searches over many seeds. Coverage does not trace them: that doubles
# their time, and what it counts are lines that smaller tests run and check.
UNTRACED = (
    "attacks",
    "channels/test_flower.py",
    "channels/test_parity.py",
    "clustering/test_starts.py",
    "conformance",
    "net",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests of `UNTRACED` out of coverage."""
    untraced = [HERE / place for place in UNTRACED]
    for item in items:
        if any(item.path.is_relative_to(place) for place in untraced):
            item.add_marker("no_cover")


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
