"""Steps over rows on a GPU. Without one, the CUDA source runs thread by thread on the CPU."""

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedclust.kernels import fuzzy_sums, hard_sums, memberships, nearest
from fedclust.kernels.gpu import Device, DeviceRows, forget, place, placed, steps
from fedclust.kernels.gpu.check import find_difference
from tests.support.device_tables import NO_WEIGHT, equal, grid_of, table
from tests.support.emulated_device import EmulatedDevice

HARD = {
    "one kernel": (300, 3, 5, np.float64, 0.0),
    "one kernel, float32": (300, 16, 3, np.float32, 0.0),
    "one centre": (140, 3, 1, np.float64, 0.0),
    "far from the origin": (150, 20, 9, np.float64, 50.0),
    "several kernels": (140, 40, 70, np.float64, 50.0),
    "several kernels, float32": (140, 40, 3, np.float32, 0.0),
    "many clusters": (700, 35, 130, np.float64, 0.0),
    "many features": (90, 150, 9, np.float32, 0.0),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", HARD)
def test_integer_sums_of_the_hard_step_are_those_of_the_cpu(
    device: Device, shape: str, weighted: bool
) -> None:
    X, centers, w = table(*SHAPES[shape])
    weight, grid = w if weighted else NO_WEIGHT, grid_of(X.shape[1])
    there = place(X, device)
    assert equal(hard_sums(there, centers, weight, grid), hard_sums(X, centers, weight, grid))


@pytest.mark.parametrize("shape", HARD)
def test_labels_are_those_of_the_cpu(device: Device, shape: str) -> None:
    X, centers, _ = table(*SHAPES[shape])
    there = place(X, device)
    labels, d2 = nearest(there, centers)
    expected, far = nearest(X, centers)
    assert (labels == expected).all()
    assert (d2 == far).all()  # the last bit decides a tie
    sums, cpu = hard_sums(there, centers), hard_sums(X, centers)
    assert (sums.records == cpu.records).all()
    np.testing.assert_allclose(sums.total, cpu.total, rtol=1e-12, atol=1e-11)


SHAPES = HARD | {
    "a block": (100, 40, 37, np.float64, 50.0),
    "a block, float32": (100, 64, 64, np.float32, 0.0),
    "few features, many clusters": (100, 20, 40, np.float64, 0.0),
}


@pytest.mark.parametrize("fuzzifier", [2.0, 1.5, 1.7])
@pytest.mark.parametrize(
    "shape",
    ["one kernel", "several kernels", "a block", "a block, float32", "few features, many clusters"],
)
def test_sums_of_the_fuzzy_step_are_within_1e12_of_the_cpu(
    device: Device, shape: str, fuzzifier: float
) -> None:
    X, centers, w = table(*SHAPES[shape])
    there = place(X, device)
    for found, cpu in zip(
        fuzzy_sums(there, centers, fuzzifier, w), fuzzy_sums(X, centers, fuzzifier, w), strict=True
    ):
        np.testing.assert_allclose(found, cpu, rtol=1e-12, atol=1e-12 * np.abs(cpu).max())
    U = memberships(there, centers, fuzzifier)
    np.testing.assert_allclose(U, memberships(X, centers, fuzzifier), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("shape", ["one kernel, float32", "several kernels"])
def test_integer_sums_of_the_fuzzy_step_differ_by_single_steps(device: Device, shape: str) -> None:
    X, centers, w = table(*SHAPES[shape])
    there, grid = place(X, device), grid_of(X.shape[1])
    found, cpu = fuzzy_sums(there, centers, 2.0, w, grid), fuzzy_sums(X, centers, 2.0, w, grid)
    for ours, theirs in zip(found, cpu, strict=True):
        assert ours.dtype == np.int64
        assert np.abs(ours - theirs).max() <= len(X) // 50
    assert equal(found, fuzzy_sums(there, centers, 2.0, w, grid))


@pytest.mark.parametrize("part_rows", [37, 1000])
def test_integer_sums_do_not_depend_on_the_parts(device: Device, part_rows: int) -> None:
    X, centers, w = table(300, 3, 5)
    rows = DeviceRows(X, device, part_bytes=part_rows * X.itemsize * 3)
    assert len(rows.cuts) == -(-300 // part_rows)
    found = steps.hard_sums(rows, centers, w, grid_of(3))
    assert found is not None
    assert equal(found, hard_sums(X, centers, w, grid_of(3)))
    whole = DeviceRows(X, device)
    fuzzy = [steps.fuzzy_sums(r, centers, 2.0, w, grid_of(3)) for r in (rows, whole)]
    assert equal(*fuzzy)


def test_sums_of_fractions_are_the_same_in_every_run(device: Device) -> None:
    X, centers, w = table(300, 3, 5)
    runs = [hard_sums(place(X, device), centers, w) for _ in range(3)]
    assert equal(runs[0], runs[1])
    assert equal(runs[0], runs[2])


def test_rows_stay_on_the_device_from_round_to_round(emulated: EmulatedDevice) -> None:
    X, centers, w = table(300, 3, 5)
    there = place(X, emulated)
    hard_sums(there, centers, w)
    copied = emulated.copied
    for _ in range(3):
        hard_sums(there, centers, w)
    assert emulated.copied - copied < X.nbytes / 4  # centres only


def test_rows_larger_than_the_memory_are_copied_in_every_round(emulated: EmulatedDevice) -> None:
    X, centers, _ = table(300, 3, 5)
    small = replace(emulated, memory=1024)
    rows = DeviceRows(X, small, part_bytes=1024)
    assert small.copied == 0
    for turn in (1, 2):
        found = steps.hard_sums(rows, centers, NO_WEIGHT, grid_of(3))
        assert found is not None
        assert equal(found, hard_sums(X, centers, NO_WEIGHT, grid_of(3)))
        assert small.copied >= turn * X.nbytes


def test_more_clusters_than_a_block_holds_stay_on_the_cpu(emulated: EmulatedDevice) -> None:
    X, _, _ = table(300, 3, 5)
    centers = np.random.default_rng(0).normal(size=(steps.MOST_CLUSTERS + 1, 3))
    there = place(X, emulated)
    assert equal(hard_sums(there, centers), hard_sums(X, centers))
    assert emulated.launched == []


def test_a_full_memory_ends_no_run(
    emulated: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, centers, _ = table(300, 3, 5)
    there = place(X, emulated)

    def full(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(emulated, "zeros", full)
    with pytest.warns(RuntimeWarning, match="memory is full"):
        found = hard_sums(there, centers)
    assert equal(found, hard_sums(X, centers))
    assert placed(there) is None


def test_only_the_placed_array_is_on_the_device(emulated: EmulatedDevice) -> None:
    X, _, _ = table(300, 3, 5)
    there = place(X, emulated)
    assert placed(there) is not None
    assert placed(X) is None
    assert placed(there[:10]) is None
    with pytest.raises(ValueError, match="read-only"):
        there[0, 0] = 1.0
    forget(there)
    assert placed(there) is None
    again = place(X, emulated)
    key = id(again)
    del again
    gc.collect()
    from fedclust.kernels.gpu import rows

    assert key not in rows._placed


def test_a_device_is_compared_with_the_cpu(device: Device) -> None:
    assert find_difference(device) is None


@pytest.mark.parametrize(("step", "by"), [("hard", 1), ("fuzzy", 10**6)])
def test_a_device_that_computes_something_else_is_found(
    emulated: EmulatedDevice, step: str, by: int
) -> None:
    class Wrong(EmulatedDevice):
        def get(self, array: Any) -> Any:
            found = super().get(array)
            wrong = found.ndim == ("hard", "fuzzy").index(step) + 1
            return found + by if wrong else found

    found = find_difference(Wrong(emulated.folder))
    assert found is not None
    assert f"{step} step" in found


def test_rows_that_are_gone_are_not_copied(emulated: EmulatedDevice) -> None:
    rows = DeviceRows(np.ones((9, 2)), replace(emulated, memory=1))
    with pytest.raises(ReferenceError, match="deleted"):
        list(rows.parts(NO_WEIGHT))


def test_float_sums_of_the_hard_step_with_weights(device: Device) -> None:
    X, centers, w = table(300, 3, 5)
    found, cpu = hard_sums(place(X, device), centers, w), hard_sums(X, centers, w)
    np.testing.assert_allclose(found.weight, cpu.weight, rtol=1e-13)
    np.testing.assert_allclose(found.total, cpu.total, rtol=1e-12, atol=1e-12)
