"""Which device computes a client's steps: the CPU, or an NVIDIA GPU.

Labels and integer sums are the same on both, so a client with a GPU takes part in a study beside
clients without one.
"""

import os
import warnings
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from .algorithm import Data
from .batches import Batches
from .errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from ..kernels.gpu import Device

DEVICES = ("auto", "cpu", "gpu")
VARIABLE = "FEDCLUST_DEVICE"
WORTH_COPYING = 2**22  # numbers: with `auto`, smaller tables stay on the CPU


def choose_device(setting: str) -> str:
    """The device that a setting asks for; the environment decides what the setting leaves open."""
    if setting not in DEVICES:
        cuda = "cu" in str(setting).casefold()  # "cuda", "CUDA:0", "cupy"
        near = "; did you mean 'gpu'?" if cuda else did_you_mean(setting, DEVICES)
        raise ConfigError(f"device must be one of {', '.join(DEVICES)}, got {setting!r}{near}")
    wanted = os.environ.get(VARIABLE, "") or "auto"
    if setting != "auto":
        return setting
    if wanted not in DEVICES:
        raise ConfigError(f"{VARIABLE} must be one of {', '.join(DEVICES)}, got {wanted!r}")
    return wanted


Rows = TypeVar("Rows", Data, Batches, Data | Batches)


def put_rows(data: Rows, setting: str) -> Rows:
    """The data with rows on the chosen device; steps over these rows run there.

    Rows in batches and rows with missing cells stay on the CPU, and so does whatever is too small
    to gain, unless the setting is "gpu".
    """
    device = choose_device(setting)
    if device == "cpu" or isinstance(data, Batches) or not _fits(data):
        return data
    if device == "auto" and data.X.size < WORTH_COPYING:
        return data
    found, reason = find_gpu()
    if found is None:
        if device == "gpu":
            raise ConfigError(f"device = 'gpu': {reason}; use 'auto' or 'cpu'")
        return data
    from ..kernels.gpu import place

    return replace(data, X=place(data.X, found))


def _fits(data: Data) -> bool:
    """Whether the kernels take such rows."""
    floats = data.X.dtype.kind == "f" and data.X.ndim == 2
    return floats and data.X.size > 0 and not data.has_missing


def check_device(setting: str) -> str:
    """Say which device a setting leads to; refuse a GPU that is asked for and cannot be used."""
    device = choose_device(setting)
    if device == "cpu":
        return "CPU"
    found, reason = find_gpu()
    if found is not None:
        return f"GPU {found.name}" if device == "gpu" else f"GPU {found.name} for large tables"
    if device == "gpu":
        raise ConfigError(f"device = 'gpu': {reason}; use 'auto' or 'cpu'")
    return "CPU"


@cache
def find_gpu() -> tuple["Device | None", str]:
    """The GPU, tried once in a process, or None and the reason."""
    if find_spec("cupy") is None:
        return None, "CuPy is not installed; run: pip install 'fedclust[gpu]'"
    try:
        from ..kernels.gpu import CudaDevice
        from ..kernels.gpu.check import find_difference

        device = CudaDevice()
        difference = find_difference(device)
    except Exception as problem:
        # A driver that is absent or too old, or a compiler that fails: CuPy has many errors.
        return None, f"the GPU cannot be used ({' '.join(str(problem).split())[:200]})"
    if difference is not None:
        reason = f"the GPU {device.name} computes other numbers than the CPU ({difference})"
        warnings.warn(f"{reason}; the CPU is used", RuntimeWarning, stacklevel=2)
        return None, reason
    return device, ""
