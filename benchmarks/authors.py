"""Seconds per round compared with the papers' own code, on the same workload, one thread."""

import os
import subprocess
import sys

from .timing import row

# Seconds per round of the authors' code for 20,000 and 100,000 rows, measured once on a similar
# machine, one thread: ten clusters in 16 dimensions, 20 equal clients (columns: four owners).
AUTHORS = {
    "LLF-CM": ("llf-cm", 0.110, 0.418),
    "LLF-FCM": ("llf-fcm", 0.431, 2.03),
    "LLF-CM, columns": ("vertical-llf-cm", 1.93, 10.4),
    "LLF-FCM, columns": ("vertical-llf-fcm", 0.414, 1.94),
    "FFCM avg1, one local step": ("ffcm-avg1", 0.030, 0.133),
    "FKM": ("fkm", 0.098, 0.215),
    "DWF, their NumPy, 5 local steps": ("dwf", 0.064, 0.290),
    "DWF, their scikit-learn, 5 local steps": ("dwf", 0.046, 0.078),
    "EWF, their NumPy, 5 local steps": ("ewf", 0.054, 0.240),
}

CODE = """
import sys, time
import numpy as np
from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Schema, rounds
key, n = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(rng.random((10, 16))[rng.integers(0, 10, n)], 0.1)
X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
vertical = key.startswith("vertical")
parts = np.split(X, 4, axis=1) if vertical else np.array_split(X, 20)
channel = LocalChannel({f"c{i:02d}": Data.of(part) for i, part in enumerate(parts)})
init = np.arange(10) if vertical else X[:10]
plan = Plan(make(key, 10, init=init, tol=0.0, max_rounds=9))
best, start = float("inf"), time.perf_counter()
for done in rounds(plan, channel, Schema(16, n_records=n)):
    now = time.perf_counter()
    if done.number > 1:
        best = min(best, now - start)
    start = now
print(best)
"""


def table() -> list[str]:
    """Our times in a process of one thread; theirs as measured before."""
    headings = ("algorithm", "rows", "authors' code", "fedclust", "times faster")
    lines = [row(*headings), row(*["---"] * 5)]
    for name, (key, *theirs) in AUTHORS.items():
        for n, seconds in zip((20_000, 100_000), theirs, strict=True):
            command = [sys.executable, "-c", CODE, key, str(n)]
            env = {**os.environ, "FEDCLUST_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            out = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
            ours, faster = float(out.stdout), seconds / float(out.stdout)
            shown = f"{faster:.0f}" if faster >= 10 else f"{faster:.1f}"
            lines.append(
                row(name, f"{n:,}", f"{seconds * 1e3:.0f} ms", f"{ours * 1e3:.1f} ms", shown)
            )
    return lines
