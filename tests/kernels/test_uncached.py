"""Compiled loops for a user who has no place to keep machine code, as a service may have none."""

import subprocess
import sys

import pytest

pytest.importorskip("numba")

CODE = """
import numba
compile = numba.njit
def njit(*words, cache=False, **how):
    if cache:
        return lambda function: (_ for _ in ()).throw(RuntimeError("no locator available"))
    return compile(*words, **how)
numba.njit = njit
import numpy as np
from fedclust.kernels import hard_sums
print(hard_sums(np.eye(3), np.eye(3)[:2], np.empty(0)).weight.tolist())
"""


def test_loops_are_compiled_anew_where_they_cannot_be_kept() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.stdout == "[2.0, 1.0]\n", done.stderr
