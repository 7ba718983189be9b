"""Steps over rows on a GPU. Without one, the CUDA source runs thread by thread on the CPU."""

import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedclust import FederatedKMeans, make
from fedclust.channels.local import LocalChannel
from fedclust.client.requests import EncodedRows
from fedclust.clustering.preparation import Column
from fedclust.clustering.rows import cluster
from fedclust.core import Batches, ConfigError, Data, Schema
from fedclust.core import device as devices
from fedclust.core.device import check_device, put_rows
from fedclust.core.host import to_host
from fedclust.kernels import fuzzy_sums, hard_sums, memberships, nearest
from fedclust.kernels.gpu import CudaDevice, Device, DeviceRows, check, forget, place, placed, steps
from fedclust.kernels.gpu.check import find_difference
from fedclust.kernels.grid import Grid, make_grid
from fedclust.tiers import tier_of
from tests.client.kit import NUMBERS, endpoint, settings_text, write_kit
from tests.support.emulated_device import COMPILER, EmulatedDevice

NO_WEIGHT = np.empty(0)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("emulated")


@pytest.fixture(params=["emulated", "cuda"])
def device(request: pytest.FixtureRequest, compiled: Path) -> Device:
    if request.param == "emulated":
        if COMPILER is None:
            pytest.skip("g++ compiles the CUDA source for the CPU, and is not installed")
        return EmulatedDevice(compiled)
    if find_spec("cupy") is None:
        pytest.skip("needs an NVIDIA GPU and fedclust[gpu]")
    return CudaDevice()


@pytest.fixture
def emulated(compiled: Path) -> EmulatedDevice:
    if COMPILER is None:
        pytest.skip("g++ compiles the CUDA source for the CPU, and is not installed")
    return EmulatedDevice(compiled)


def table(n: int, width: int, k: int, dtype: Any = np.float64, at: float = 0.0) -> Any:
    """Rows, some of them equal, centres, the last equal to the first, and weights."""
    rng = np.random.default_rng(n + width)
    X = (rng.normal(size=(n, width)) + at).astype(dtype)
    X[3:6] = X[0]
    centers = X[rng.integers(0, n, k)] + rng.normal(size=(k, width)) * 0.3
    centers[-1] = centers[0]
    return X, centers, rng.uniform(0.5, 2.0, n)


def grid_of(width: int) -> Grid:
    return make_grid(np.full(width, -100.0), np.full(width, 100.0), 10**6, 2.0)


def equal(ours: Any, theirs: Any) -> bool:
    return all(a.dtype == b.dtype and (a == b).all() for a, b in zip(ours, theirs, strict=True))


SHAPES = {
    "one kernel": (300, 3, 5, np.float64, 0.0),
    "one kernel, float32": (300, 16, 3, np.float32, 0.0),
    "one centre": (140, 3, 1, np.float64, 0.0),
    "far from the origin": (150, 20, 9, np.float64, 50.0),
    "several kernels": (140, 40, 70, np.float64, 50.0),
    "several kernels, float32": (140, 40, 3, np.float32, 0.0),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_integer_sums_of_the_hard_step_are_those_of_the_cpu(
    device: Device, shape: str, weighted: bool
) -> None:
    X, centers, w = table(*SHAPES[shape])
    weight, grid = w if weighted else NO_WEIGHT, grid_of(X.shape[1])
    there = place(X, device)
    assert equal(hard_sums(there, centers, weight, grid), hard_sums(X, centers, weight, grid))


@pytest.mark.parametrize("shape", SHAPES)
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


@pytest.mark.parametrize("fuzzifier", [2.0, 1.5, 1.7])
@pytest.mark.parametrize("shape", ["one kernel", "several kernels"])
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
            wrong = found.ndim == 2 and f"{step}_fused" in self.launched
            return found + by if wrong else found

    found = find_difference(Wrong(emulated.folder))
    assert found is not None
    assert f"{step} step" in found


@pytest.fixture
def with_gpu(emulated: EmulatedDevice, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A machine with a GPU; returns the kernels that ran."""
    monkeypatch.setattr(devices, "find_gpu", lambda: (emulated, ""))
    return lambda: emulated.launched


def clients(n: int = 90) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        name: rng.normal(rng.integers(0, 3, (n, 1)) * 4.0, 1.0, (n, 2))
        for name in ("east", "north", "south")
    }


@pytest.mark.parametrize("privacy", ["none", "secure"])
def test_an_estimator_fits_on_the_gpu_and_finds_the_same(
    with_gpu: Callable[[], list[str]], privacy: str
) -> None:
    tables = clients()
    models = {
        device: FederatedKMeans(
            3, privacy=privacy, bounds=(-10, 20), device=device, random_state=0
        ).fit(tables)
        for device in ("cpu", "gpu")
    }
    assert "hard_fused" in with_gpu()
    ours, cpu = models["gpu"].cluster_centers_, models["cpu"].cluster_centers_
    if privacy == "secure":
        assert (ours == cpu).all()
    np.testing.assert_allclose(ours, cpu, rtol=1e-13)
    assert (models["gpu"].labels_ == models["cpu"].labels_).all()


@pytest.mark.parametrize("algorithm", ["llf-cm", "llf-fcm"])
def test_clients_with_and_without_a_gpu_form_one_masked_total(
    with_gpu: Callable[[], list[str]], algorithm: str
) -> None:
    """The answers of a client to every request are compared, one client on each device."""
    tier = tier_of("secure")
    rows = {name: Data.of(X) for name, X in clients().items()}
    schema = Schema(2, low=np.full(2, -10.0), high=np.full(2, 20.0))
    moved = {**rows, "east": put_rows(rows["east"], "gpu")}
    found = [
        cluster(make(algorithm, 3), data, schema=schema, privacy=tier, seed=0)
        for data in (LocalChannel(rows), LocalChannel(moved))
    ]
    assert with_gpu()
    if algorithm == "llf-cm":
        assert (found[0].centers == found[1].centers).all()
    np.testing.assert_allclose(found[1].centers, found[0].centers, rtol=1e-12)


def test_a_client_puts_its_rows_where_its_file_says(
    with_gpu: Callable[[], list[str]], tmp_path: Path
) -> None:
    columns = (Column(NUMBERS[0]),)
    for device in ("cpu", "gpu"):
        text = settings_text() + f'[compute]\ndevice = "{device}"\n'
        session = endpoint(write_kit(tmp_path / device, text))._session
        rows = session.rows(EncodedRows(columns))
        assert isinstance(rows, Data)
        assert (placed(rows.X) is not None) == (device == "gpu")


def test_small_tables_stay_on_the_cpu_unless_asked(with_gpu: Callable[[], list[str]]) -> None:
    data = Data.of(clients()["east"])
    assert put_rows(data, "auto") is data
    assert placed(put_rows(data, "gpu").X) is not None
    large = Data.of(np.zeros((devices.WORTH_COPYING // 2, 2)))
    assert placed(put_rows(large, "auto").X) is not None


def test_the_environment_decides_what_a_setting_leaves_open(
    with_gpu: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Data.of(clients()["east"])
    monkeypatch.setenv("FEDCLUST_DEVICE", "gpu")
    assert placed(put_rows(data, "auto").X) is not None
    assert put_rows(data, "cpu") is data
    monkeypatch.setenv("FEDCLUST_DEVICE", "cuda")
    with pytest.raises(ConfigError, match="FEDCLUST_DEVICE must be one of auto, cpu, gpu"):
        put_rows(data, "auto")
    with pytest.raises(ConfigError, match="device must be one of auto, cpu, gpu, got 'tpu'"):
        put_rows(data, "tpu")


def test_missing_cells_and_batches_stay_on_the_cpu(with_gpu: Callable[[], list[str]]) -> None:
    gaps = Data.of([[1.0, np.nan], [2.0, 3.0]], missing=True)
    assert put_rows(gaps, "gpu") is gaps
    batches = Batches(lambda: [gaps], 2, 2)
    assert put_rows(batches, "gpu") is batches


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_without_cupy_the_gpu_is_refused_in_a_sentence() -> None:
    devices.find_gpu.cache_clear()
    with pytest.raises(ConfigError, match=r"CuPy is not installed.*fedclust\[gpu\].*'cpu'"):
        put_rows(Data.of([[1.0], [2.0]]), "gpu")
    large = Data.of(np.zeros((devices.WORTH_COPYING, 1)))
    assert put_rows(large, "auto") is large


class OnGpu:
    """An array that says that it is on a GPU, as CuPy's and PyTorch's do."""

    def __init__(self, values: Any) -> None:
        self._values = np.asarray(values, dtype=float)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("this array is on a GPU")


class LikeCupy(OnGpu):
    def get(self) -> Any:
        return self._values


class LikeTorch(OnGpu):
    def detach(self) -> Any:
        return self

    def cpu(self) -> Any:
        return self

    def numpy(self) -> Any:
        return self._values


@pytest.mark.parametrize("kind", [LikeCupy, LikeTorch])
def test_arrays_on_a_gpu_are_taken_as_they_are(kind: type[OnGpu]) -> None:
    tables = clients()
    plain = FederatedKMeans(3, random_state=0).fit(tables)
    there: Any = {name: kind(X) for name, X in tables.items()}
    found = FederatedKMeans(3, random_state=0).fit(there)
    assert (found.cluster_centers_ == plain.cluster_centers_).all()
    assert (tables["east"] == Data.of(kind(tables["east"])).X).all()
    one = found.predict(kind(tables["east"]))
    assert (one == plain.predict(tables["east"])).all()


class FakeCupy(ModuleType):
    """What the device asks of CuPy, for machines without it."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.modules: list[dict[str, Any]] = []
        self.calls: list[tuple[Any, ...]] = []
        properties = {"name": b"a card"}
        self.cuda = SimpleNamespace(
            Device=lambda: SimpleNamespace(id=0),
            runtime=SimpleNamespace(
                getDeviceProperties=lambda _: properties, memGetInfo=lambda: (100, 200)
            ),
        )
        self.asarray, self.asnumpy, self.zeros = np.array, np.array, np.zeros

    def get_default_memory_pool(self) -> Any:
        return SimpleNamespace(free_bytes=lambda: 20)

    def RawModule(self, **given: Any) -> Any:
        self.modules.append(given)
        cupy = self

        class Function:
            max_dynamic_shared_size_bytes = 0

            def __call__(self, *arguments: Any, shared_mem: int) -> None:
                cupy.calls.append((*arguments, shared_mem, self.max_dynamic_shared_size_bytes))

        return SimpleNamespace(get_function=lambda name: Function())


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    cupy = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(devices, "find_spec", lambda name: name == "cupy")
    devices.find_gpu.cache_clear()
    yield cupy
    devices.find_gpu.cache_clear()


def test_cupy_compiles_one_form_once_and_starts_kernels(fake: FakeCupy) -> None:
    device = CudaDevice()
    assert device.name == "a card"
    assert device.free_bytes() == 120
    macros = (("ROW", "double"), ("F", "3"))
    code = device.load(macros)
    assert device.load(macros) is code
    (made,) = fake.modules
    assert made["options"] == ("--std=c++14", "--fmad=false", "-DROW=double", "-DF=3")
    assert "hard_fused" in made["code"]
    there = device.put(np.ones(3))
    assert device.get(there).tolist() == [1.0, 1.0, 1.0]
    assert device.zeros((2,), np.int64).tolist() == [0, 0]
    for shared in (1000, 90_000):
        device.launch(code, "hard_fused", (4, 1, 1), 128, shared, [there, None, np.int32(7)])
    small, large = fake.calls
    assert small[:2] == ((4, 1, 1), (128, 1, 1))
    assert [type(a) for a in small[2]] == [np.ndarray, np.uint64, np.int32]
    assert (small[3:], large[3:]) == ((1000, 0), (90_000, 90_000))


def test_a_gpu_is_compared_with_the_cpu_before_it_is_used(
    fake: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "find_difference", lambda _: None)
    device, reason = devices.find_gpu()
    assert device is not None
    assert reason == ""


def test_a_gpu_that_computes_other_numbers_is_not_used(fake: FakeCupy) -> None:
    with pytest.warns(RuntimeWarning, match=r"a card computes other numbers.*the CPU is used"):
        device, _ = devices.find_gpu()
    assert device is None
    data = Data.of([[1.0], [2.0]])
    with pytest.raises(ConfigError, match="computes other numbers"):
        put_rows(data, "gpu")


def test_a_driver_that_fails_is_a_sentence(fake: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> Any:
        raise RuntimeError("cudaErrorInsufficientDriver:\n driver is too old")

    monkeypatch.setattr(fake.cuda.runtime, "getDeviceProperties", fail)
    with pytest.raises(ConfigError, match=r"cannot be used \(cudaErrorInsufficientDriver: driver"):
        put_rows(Data.of([[1.0], [2.0]]), "gpu")


class Exporter(OnGpu):
    """An array that copies itself to the host by DLPack alone."""

    def __dlpack__(self, **_: Any) -> Any:
        return self._values.__dlpack__()


def test_an_array_that_has_only_dlpack_is_copied_by_it() -> None:
    pytest.importorskip("numpy", "2.1", reason="copies between devices came with NumPy 2.1")
    assert (to_host([Exporter([[1.0]])])[0] == [[1.0]]).all()


def test_rows_that_are_gone_are_not_copied(emulated: EmulatedDevice) -> None:
    rows = DeviceRows(np.ones((9, 2)), replace(emulated, memory=1))
    with pytest.raises(ReferenceError, match="deleted"):
        list(rows.parts(NO_WEIGHT))


def test_float_sums_of_the_hard_step_with_weights(device: Device) -> None:
    X, centers, w = table(300, 3, 5)
    found, cpu = hard_sums(place(X, device), centers, w), hard_sums(X, centers, w)
    np.testing.assert_allclose(found.weight, cpu.weight, rtol=1e-13)
    np.testing.assert_allclose(found.total, cpu.total, rtol=1e-12, atol=1e-12)


def test_the_device_is_named(
    with_gpu: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_device("gpu") == "GPU emulated"
    assert check_device("auto") == "GPU emulated for large tables"
    assert check_device("cpu") == "CPU"
    monkeypatch.setattr(devices, "find_gpu", lambda: (None, "no driver"))
    assert check_device("auto") == "CPU"
    with pytest.raises(ConfigError, match="no driver"):
        check_device("gpu")
