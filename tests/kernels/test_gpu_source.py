"""The CUDA source, compiled for a card. This needs CUDA's compiler and no GPU."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fedclust.kernels.gpu.device import OPTIONS, SOURCE

COMPILER = shutil.which("nvcc")
FORMS = [
    ("float", 1, 0, 0, 2),
    ("double", 16, 1, 1, 0),
    ("double", 32, 0, 1, 3),
    ("float", 64, 0, 0, 2),
    ("double", 1024, 1, 0, 0),
]
_KERNEL = re.compile(r"Compiling entry function '(\w+)'")
_MEMORY = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@pytest.mark.skipif(COMPILER is None, reason="nvcc compiles the CUDA source, and is not installed")
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_kernels_compile_for_hopper_and_stay_in_registers(
    form: tuple[str, int, int, int, int], tmp_path: Path
) -> None:
    """What a thread keeps in memory instead of registers takes a hundred times as long to reach."""
    names = ("ROW", "F", "EXACT", "WEIGHTED", "POWER")
    macros = [f"-D{name}={value}" for name, value in zip(names, form, strict=True)]
    command = [str(COMPILER), "-arch=sm_90", *OPTIONS, *macros, "-Werror", "all-warnings"]
    command += ["-Xptxas", "-v", "-cubin", "-x", "cu", str(SOURCE), "-o", str(tmp_path / "cubin")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    kernels, memory = _KERNEL.findall(found.stderr), _MEMORY.findall(found.stderr)
    assert {"sum_by_label", "distances", "add_weighted"} <= set(kernels)
    assert len(memory) >= len(kernels)
    assert set(memory) == {("0", "0", "0")}
