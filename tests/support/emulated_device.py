"""A device for tests without a GPU: the CUDA source, compiled for the CPU."""

import ctypes
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fedclust.kernels.gpu.device import SOURCE, Form, Grid
from fedclust.typing import Array

HEADER = Path(__file__).with_name("cuda_emulator.h")
COMPILER = shutil.which("g++")
_KERNEL = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\(.*\)\s+)?(\w+)\(')


@dataclass
class EmulatedDevice:
    """Runs kernels thread by thread, and counts the bytes that it holds or copies."""

    folder: Path
    memory: int = 2**34
    name: str = "emulated"
    launched: list[str] = field(default_factory=list)
    copied: int = 0
    backwards: bool = False  # blocks and threads run from the last to the first

    def load(self, form: Form) -> Any:
        stem, flags = "-".join(str(int(value)) for value in form), list(form.flags)
        library, unit = self.folder / f"{stem}.so", self.folder / f"{stem}.cpp"
        if not library.exists():
            assert COMPILER is not None
            unit.write_text(_unit(COMPILER, flags))
            command = [COMPILER, "-O1", "-std=c++14", "-w", "-shared", "-fPIC", "-mfma"]
            command += ["-ffp-contract=off", *flags, str(unit), "-o", str(library)]
            subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))

    def launch(
        self, code: Any, kernel: str, grid: Grid, threads: int, shared: int, arguments: list[Any]
    ) -> None:
        assert shared <= 96 * 1024
        self.launched.append(kernel)
        kept = [_boxed(argument) for argument in arguments]
        pointers = (ctypes.c_void_p * len(kept))(*(box.ctypes.data for box in kept))
        given = (ctypes.c_int * 3)(*grid), threads, shared, self.backwards, pointers
        assert code.launch(kernel.encode(), *given) == 0, f"{kernel} writes beyond its memory"

    def put(self, array: Array) -> Any:
        self.copied += array.nbytes
        return np.array(array, order="C")

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return np.zeros(shape, dtype)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return np.full(size, 0x5A, np.uint8).view(dtype).reshape(shape)  # no kernel may read it

    def get(self, array: Any) -> Array:
        return np.array(array)

    def free_bytes(self) -> int:
        return self.memory


def _boxed(argument: Any) -> Array:
    """An array of one element that holds a scalar, or the address of an array."""
    if argument is None:
        return np.zeros(1, np.uint64)
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return np.array([argument.ctypes.data], np.uint64)
    assert isinstance(argument, np.generic), argument
    return np.array([argument])


def _unit(compiler: str, flags: list[str]) -> str:
    """The source, and a function that runs a kernel by its name."""
    source = SOURCE.replace("extern __shared__ double shared[];", "")
    command = [compiler, "-E", "-P", "-w", "-x", "c++", *flags, "-"]
    seen = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    table = "\n".join(
        f'  if (std::string(name) == "{name}") emulate({name}, grid, threads, memory, back, given);'
        for name in _KERNEL.findall(seen.stdout)
    )
    return (
        f'#include "{HEADER}"\n{source}\n'
        'extern "C" int launch(const char* name, const int* grid, int threads, int memory,\n'
        "                      int back, void** given) {\n"
        f"  beyond = 0;\n{table}\n  return beyond != 0;\n}}\n"
    )
