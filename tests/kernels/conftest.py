"""Devices that the tests of steps on a GPU run on."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from fedclust.kernels.gpu import CudaDevice, Device
from tests.support.emulated_device import COMPILER, EmulatedDevice


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
