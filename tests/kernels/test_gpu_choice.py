"""Which rows go to a GPU, what CuPy is asked for, and arrays that are on a GPU already."""

import ctypes
import sys
from collections.abc import Callable, Iterator
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
from fedclust.kernels.gpu import CudaDevice, check, placed, transfer
from fedclust.kernels.gpu import device as gpu_device
from fedclust.kernels.gpu.device import OPTIONS, SHARED, Form
from fedclust.tiers import tier_of
from tests.client.kit import NUMBERS, endpoint, settings_text, write_kit
from tests.support.emulated_device import EmulatedDevice


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
    assert "hard_in_warps" in with_gpu()
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


class FakeMemory:
    """Where an array of the fake device is."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __add__(self, offset: int) -> "FakeMemory":
        return FakeMemory(self.address + offset)

    def copy_from_host(self, source: int, size: int) -> None:
        ctypes.memmove(self.address, source, size)

    def copy_from_host_async(self, source: int, size: int, stream: Any) -> None:
        self.copy_from_host(source, size)


class FakeArray(np.ndarray):
    """An array of the fake device."""

    @property
    def data(self) -> Any:
        return FakeMemory(self.ctypes.data)


class FakePinned(bytearray):
    """Pinned memory."""

    @property
    def ptr(self) -> int:
        return np.frombuffer(self, np.uint8).ctypes.data


class FakeCupy(ModuleType):
    """What the device asks of CuPy, for machines without it."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.modules: list[dict[str, Any]] = []
        self.calls: list[tuple[Any, ...]] = []
        self.properties = {"name": b"a card", "major": 9}
        nothing = SimpleNamespace(synchronize=lambda: None, record=lambda _: None)
        self.cuda = SimpleNamespace(
            Device=lambda: SimpleNamespace(id=0),
            runtime=SimpleNamespace(
                getDeviceProperties=lambda _: self.properties, memGetInfo=lambda: (100, 200)
            ),
            alloc_pinned_memory=FakePinned,
            Event=lambda: nothing,
            Stream=lambda **_: nothing,
            get_current_stream=lambda: nothing,
        )
        self.asnumpy, self.zeros = np.array, np.zeros

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return np.empty(shape, dtype).view(FakeArray)

    def get_default_memory_pool(self) -> Any:
        return SimpleNamespace(free_bytes=lambda: 20)

    def RawModule(self, **given: Any) -> Any:
        self.modules.append(given)
        cupy = self

        class Function:
            max_dynamic_shared_size_bytes = 0

            def __call__(self, *arguments: Any, shared_mem: int) -> None:
                cupy.calls.append((*arguments, shared_mem, self.max_dynamic_shared_size_bytes))

        class Module:
            def get_function(self, name: str) -> Function:
                return Function()

        return Module()


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
    form = Form(True, 3, False, True, 2, 1)
    code = device.load(form)
    assert device.load(form) is code
    (made,) = fake.modules
    assert made["options"] == (*OPTIONS, *form.flags)
    assert form.flags[:3] == ("-DROW=double", "-DF=3", "-DEXACT=0")
    assert "hard_in_warps" in made["code"]
    there = device.put(np.ones(3))
    assert device.get(there).tolist() == [1.0, 1.0, 1.0]
    assert device.zeros((2,), np.int64).tolist() == [0, 0]
    for shared in (1000, 90_000):
        device.launch(code, "hard_in_warps", (4, 1, 1), 128, shared, [there, None, np.int32(7)])
    small, large = fake.calls
    assert small[:2] == ((4, 1, 1), (128, 1, 1))
    assert [type(a) for a in small[2]] == [FakeArray, np.uint64, np.int32]
    assert (small[3:], large[3:]) == ((1000, SHARED), (90_000, SHARED))


def test_large_arrays_go_through_buffers(fake: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_device, "LARGE", 1000)
    monkeypatch.setattr(transfer, "BUFFER", 512)
    device, rng = CudaDevice(), np.random.default_rng(0)
    for rows in (100, 333):
        source = rng.normal(size=(2 * rows, 3))[::2]  # not contiguous
        assert (np.asarray(device.put(source)) == source).all()


def test_large_arrays_arrive_without_memory_to_pin(
    fake: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> Any:
        raise RuntimeError("cudaErrorMemoryAllocation: out of memory")

    monkeypatch.setattr(gpu_device, "LARGE", 1000)
    fake.cuda.alloc_pinned_memory = refuse
    source = np.random.default_rng(0).normal(size=(200, 3))
    assert (np.asarray(CudaDevice().put(source)) == source).all()


def test_an_old_card_is_not_used(fake: FakeCupy) -> None:
    fake.properties["major"] = 7
    device, reason = devices.find_gpu()
    assert device is None
    assert "a card is older than compute capability 8.0" in reason


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
