"""What the steps need from a device, and NVIDIA devices through CuPy."""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...typing import Array
from .transfer import LARGE, CudaLink

FILES = ("common.cu", "narrow.cu", "labels.cu", "sums.cu", "fuzzy.cu")
SOURCE = "".join(Path(__file__).with_name(name).read_text() for name in FILES)
# The compiler must not fuse operations by itself: labels and integer sums would differ.
SHARED = 96 * 1024  # bytes of shared memory for a block; every card of these has as much
OLDEST = 8  # compute capability: matrix products in double, and copies ahead
OPTIONS = ("--std=c++14", "--fmad=false")

Grid = tuple[int, int, int]


class Form(NamedTuple):
    """What the kernels are compiled for."""

    double: bool  # the type of the rows
    features: int
    exact: bool
    weighted: bool
    power: int  # 2 and 3 for the fuzzifiers 2 and 1.5
    cells: int  # sixteens of clusters whose sums are kept in registers; 0: none

    @property
    def flags(self) -> tuple[str, ...]:
        """Options of the compiler."""
        row = "double" if self.double else "float"
        numbers = zip(("F", "EXACT", "WEIGHTED", "POWER", "CELLS"), self[1:], strict=True)
        return (f"-DROW={row}", *(f"-D{name}={int(value)}" for name, value in numbers))


class Device(Protocol):
    """A device that holds arrays and runs the kernels of the `.cu` files."""

    name: str

    def load(self, form: Form) -> Any:
        """Compile the source for this form, or take it from the cache."""
        ...

    def launch(
        self, code: Any, kernel: str, grid: Grid, threads: int, shared: int, arguments: list[Any]
    ) -> None:
        """Start a kernel. Arguments are arrays of the device, scalars of NumPy, or None."""
        ...

    def put(self, array: Array) -> Any:
        """Copy an array to the device."""
        ...

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Create an array of zeros on the device."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Create an array on the device whose values a kernel will write."""
        ...

    def get(self, array: Any) -> Array:
        """Wait for the device and copy an array from it."""
        ...

    def free_bytes(self) -> int:
        """Return how much memory new arrays may take."""
        ...


class CudaDevice:
    """The NVIDIA GPU that CUDA calls the current one (`CUDA_VISIBLE_DEVICES` chooses)."""

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        self.name = properties["name"].decode()
        if properties["major"] < OLDEST:
            raise RuntimeError(f"{self.name} is older than compute capability {OLDEST}.0")
        self.load, self._function = cache(self._load), cache(self._find_function)
        self._link = cache(self._find_link)

    def _load(self, form: Form) -> Any:
        options = (*OPTIONS, *form.flags)
        return self._cupy.RawModule(code=SOURCE, options=options, backend="nvrtc")

    def launch(
        self, code: Any, kernel: str, grid: Grid, threads: int, shared: int, arguments: list[Any]
    ) -> None:
        """Start a kernel on the current stream."""
        function = self._function(code, kernel)
        null = np.uint64(0)
        given = tuple(null if argument is None else argument for argument in arguments)
        function(grid, (threads, 1, 1), given, shared_mem=shared)

    def _find_function(self, code: Any, kernel: str) -> Any:
        function = code.get_function(kernel)
        function.max_dynamic_shared_size_bytes = SHARED
        return function

    def put(self, array: Array) -> Any:
        """Copy an array to the device."""
        array = np.ascontiguousarray(array)
        there = self._cupy.empty(array.shape, array.dtype)
        link = self._link() if array.nbytes >= LARGE else None
        if link is None:
            there.data.copy_from_host(array.ctypes.data, array.nbytes)
        else:
            link.copy(array, there)
        return there

    def _find_link(self) -> CudaLink | None:
        """Buffers for copies; None if the system has no memory to pin, which is slower only."""
        try:
            return CudaLink(self._cupy)
        except Exception:  # CuPy has errors of its own
            return None

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Create an array of zeros on the device."""
        return self._cupy.zeros(shape, dtype)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Create an array on the device whose values a kernel will write."""
        return self._cupy.empty(shape, dtype)

    def get(self, array: Any) -> Array:
        """Wait for the device and copy an array from it."""
        copy: Array = self._cupy.asnumpy(array)
        return copy

    def free_bytes(self) -> int:
        """Memory that CUDA has free, and what CuPy keeps for reuse."""
        free, _ = self._cupy.cuda.runtime.memGetInfo()
        return int(free) + int(self._cupy.get_default_memory_pool().free_bytes())
