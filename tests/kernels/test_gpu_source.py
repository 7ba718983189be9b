"""The CUDA source, compiled for a card. This needs CUDA's compiler and no GPU."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fedclust.kernels.gpu.device import OPTIONS, SOURCE, Form

COMPILER = shutil.which("nvcc")
FORMS = [
    Form(False, 1, False, False, 2, 0),
    Form(True, 16, True, True, 0, 1),
    Form(True, 32, False, True, 3, 2),
    Form(False, 64, False, False, 2, 0),
    Form(True, 64, False, False, 2, 4),
    Form(True, 1024, True, False, 0, 0),
]
# Bytes. Three blocks at a time with a few registers in memory are faster than two without.
SPILLED = {"fuzzy_in_blocks": 512}
_MEMORY = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@pytest.mark.skipif(COMPILER is None, reason="nvcc compiles the CUDA source, and is not installed")
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_kernels_compile_for_hopper_and_stay_in_registers(form: Form, tmp_path: Path) -> None:
    """What a thread keeps in memory instead of registers takes a hundred times as long to reach."""
    source = tmp_path / "steps.cu"
    source.write_text(SOURCE)
    command = [str(COMPILER), "-arch=sm_90", *OPTIONS, *form.flags, "-Werror", "all-warnings"]
    command += ["-Xptxas", "-v", "-cubin", str(source), "-o", str(tmp_path / "cubin")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    reports = found.stderr.split("Compiling entry function")[1:]
    kernels = {report.split("'")[1]: _MEMORY.search(report) for report in reports}
    assert {"add_parts"} < set(kernels)
    for kernel, memory in kernels.items():
        assert memory is not None, kernel
        assert max(map(int, memory.groups())) <= SPILLED.get(kernel, 0), (kernel, memory.group())
