"""Rows that are hard for the kernels: ties, copies, extreme numbers, few rows, many clusters."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedclust.core import Data, DataError
from fedclust.core import device as devices
from fedclust.core.device import put_rows
from fedclust.kernels import fuzzy_sums, hard_sums, memberships, nearest
from fedclust.kernels.gpu import Device, DeviceRows, place, placed, steps
from fedclust.kernels.grid import make_grid
from fedclust.typing import FloatArray
from tests.support.device_tables import NO_WEIGHT, equal, grid_of, table
from tests.support.emulated_device import EmulatedDevice

CASES = {
    "ties": "every row is as far from a centre as from the next one",
    "copies": "all rows and centres are the same",
    "tiny": "squares are below the smallest numbers",
    "huge": "squares are close to the largest number",
    "far rows": "differences lose digits",
    "empty clusters": "two of six centres get all rows",
    "outliers": "a few rows are far out",
}


def case(name: str, width: int) -> tuple[FloatArray, FloatArray]:
    """200 rows and 6 centres."""
    rng = np.random.default_rng(width)
    X, centers = rng.normal(size=(200, width)), rng.normal(size=(6, width))
    if name == "ties":
        X = rng.integers(-2, 3, (200, width)).astype(float)
        X[:, 0] = 0.0
        centers = np.repeat(rng.integers(-2, 3, (3, width)).astype(float), 2, axis=0)
        centers[::2, 0], centers[1::2, 0] = 1.0, -1.0
    elif name == "copies":
        X[:], centers[:] = X[0], centers[0]
    elif name == "empty clusters":
        centers[2:] += 1e6
    elif name == "outliers":
        X /= rng.uniform(0.0, 1.0, (200, 1)) ** 8
    factor = {"tiny": 1e-310, "huge": 1e150}.get(name, 1.0)
    shift = 1e9 if name == "far rows" else 0.0
    return X * factor + shift, centers * factor + shift


@pytest.mark.parametrize("width", [3, 40])
@pytest.mark.parametrize("name", CASES)
def test_labels_and_integer_sums_are_those_of_the_cpu(
    device: Device, name: str, width: int
) -> None:
    X, centers = case(name, width)
    there = place(X, device)
    labels, d2 = nearest(there, centers)
    expected, far = nearest(X, centers)
    assert (labels == expected).all()
    assert (d2 == far).all()
    top = np.maximum(np.abs(X).max(axis=0), 1.0)
    grid = make_grid(-top, top, len(X), 2.0)
    assert equal(hard_sums(there, centers, NO_WEIGHT, grid), hard_sums(X, centers, grid=grid))


@pytest.mark.parametrize("fuzzifier", [2.0, 1.05])
@pytest.mark.parametrize("name", CASES)
def test_memberships_are_those_of_the_cpu(device: Device, name: str, fuzzifier: float) -> None:
    X, centers = case(name, 3)
    U = memberships(place(X, device), centers, fuzzifier)
    np.testing.assert_allclose(U, memberships(X, centers, fuzzifier), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(U.sum(axis=1), 1.0, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 255, 256, 257])
def test_tiles_that_are_not_full(device: Device, n: int) -> None:
    for width in (3, 40):
        X, centers, w = table(max(n, 7), width, 5)
        X, w = X[:n], w[:n]
        there, grid = place(X, device), grid_of(width)
        assert equal(hard_sums(there, centers, w, grid), hard_sums(X, centers, w, grid))
        for found, cpu in zip(
            fuzzy_sums(there, centers, 1.7, w), fuzzy_sums(X, centers, 1.7, w), strict=True
        ):
            np.testing.assert_allclose(found, cpu, rtol=1e-12, atol=1e-12 * np.abs(cpu).max())


@pytest.mark.parametrize(("width", "k"), [(1, 1), (1, 1024), (3, 1024), (40, 1024)])
def test_one_feature_and_a_thousand_clusters(device: Device, width: int, k: int) -> None:
    X, centers, _ = table(150, width, k)
    there, grid = place(X, device), grid_of(width)
    assert (nearest(there, centers)[0] == nearest(X, centers)[0]).all()
    assert equal(hard_sums(there, centers, NO_WEIGHT, grid), hard_sums(X, centers, grid=grid))
    for found, cpu in zip(
        fuzzy_sums(there, centers, 2.0), fuzzy_sums(X, centers, 2.0), strict=True
    ):
        np.testing.assert_allclose(found, cpu, rtol=1e-12, atol=1e-12 * np.abs(cpu).max())


@pytest.mark.parametrize("width", [3, 40])
def test_rows_without_weight_count_as_records_only(device: Device, width: int) -> None:
    X, centers, w = table(150, width, 5)
    w[:100] = 0.0
    there, grid = place(X, device), grid_of(width)
    assert equal(hard_sums(there, centers, w, grid), hard_sums(X, centers, w, grid))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("width", "k"), [(3, 5), (40, 70)])
def test_the_order_of_threads_and_blocks_changes_no_bit(
    emulated: EmulatedDevice, width: int, k: int, exact: bool
) -> None:
    X, centers, w = table(700, width, k)
    grid = grid_of(width) if exact else None
    runs = [
        (hard_sums(there, centers, w, grid), fuzzy_sums(there, centers, 2.0, w, grid))
        for there in (place(X, emulated), place(X, replace(emulated, backwards=True)))
    ]
    for forwards, backwards in zip(*runs, strict=True):
        assert equal(forwards, backwards)


def test_rows_that_steps_cannot_take_never_reach_a_device(
    emulated: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "find_gpu", lambda: (emulated, ""))
    for value, reason in (
        (np.nan, "missing or inf"),
        (np.inf, "missing or inf"),
        (1e200, "rescale"),
    ):
        with pytest.raises(DataError, match=reason):
            put_rows(Data.of([[1.0, 2.0], [value, 3.0]]), "gpu")
    assert emulated.copied == 0


def test_a_memory_that_fills_during_the_copy_keeps_no_rows(
    emulated: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, centers, w = table(300, 3, 5)
    small = replace(emulated)
    put, held = small.put, [0]

    def limited(array: Any) -> Any:
        held[0] += array.nbytes
        if held[0] > X.nbytes // 2:
            raise MemoryError
        return put(array)

    monkeypatch.setattr(small, "put", limited)
    rows = DeviceRows(X, small, part_bytes=1024)
    monkeypatch.undo()
    found = steps.hard_sums(rows, centers, w, grid_of(3))
    assert found is not None
    assert equal(found, hard_sums(X, centers, w, grid_of(3)))
    assert placed(place(X, small)) is not None


def test_weights_that_do_not_fit_are_copied_with_the_rows(emulated: EmulatedDevice) -> None:
    X, centers, w = table(300, 3, 5)
    small = replace(emulated, memory=1024)
    rows = DeviceRows(X, small, part_bytes=1024)
    for turn in (1, 2):
        found = steps.hard_sums(rows, centers, w, grid_of(3))
        assert found is not None
        assert equal(found, hard_sums(X, centers, w, grid_of(3)))
        assert small.copied >= turn * (X.nbytes + w.nbytes)
