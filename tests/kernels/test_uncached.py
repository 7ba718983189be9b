"""Compiled loops where numba cannot cache machine code, as for a service account."""

import subprocess
import sys

import pytest

pytest.importorskip("numba")

CODE = """
import numba
compile = numba.njit
def njit(*args, cache=False, **options):
    if cache:
        return lambda function: (_ for _ in ()).throw(RuntimeError("no locator available"))
    return compile(*args, **options)
numba.njit = njit
import numpy as np
from fedclust.kernels import hard_sums
print(hard_sums(np.eye(3), np.eye(3)[:2], np.empty(0)).weight.tolist())
"""


def test_loops_compile_without_a_cache() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.stdout == "[2.0, 1.0]\n", done.stderr
