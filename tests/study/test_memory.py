"""A local step over a file needs the memory of a batch, not of the file."""

import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_MB = 24

CODE = """
import resource
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from fedclust import make
from fedclust.core import Batches, Data, Plan, Request, Schema, respond
from fedclust.data import Selection
from fedclust.data.streams import Stream

LIMIT = {limit} * 2**20
ROWS, COLUMNS = 20_000, 10
names = tuple(f"c{{i}}" for i in range(COLUMNS))


def write(path, size):
    rng, writer, n = np.random.default_rng(0), None, 0
    while n * COLUMNS * 8 < size:
        table = pa.table({{name: rng.normal(size=ROWS) for name in names}})
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table)
        n += ROWS
    writer.close()
    return n


def step(path, n):
    stream = Stream((path,), Selection(names, frozenset(), (), n_rows=ROWS))
    def read():
        for columns in stream.batches():
            yield Data.of(np.column_stack([columns[name] for name in names]))
    plan = Plan(make("llf-fcm", 3, init=np.arange(3.0)[:, None] * np.ones(COLUMNS)))
    down = plan.algorithm.broadcast(plan.algorithm.start(Schema(COLUMNS), plan.rng("server", -1)))
    return respond(plan, Request(0, ("a",), down), "a", Batches(read, n, COLUMNS))


folder = Path(sys.argv[1])
step(folder / "small.parquet", write(folder / "small.parquet", 10 * ROWS * COLUMNS * 8))
n = write(folder / "large.parquet", 10 * LIMIT)
assert (folder / "large.parquet").stat().st_size >= 10 * LIMIT
now = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
most = int(now.split()[1]) * 1024 + LIMIT
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
try:
    np.ones((n, COLUMNS))
except MemoryError:
    print("the limit is real")
assert step(folder / "large.parquet", n).weight.sum() > 0
print("done")
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc (Linux)")
def test_a_file_of_ten_times_the_limit_is_read_within_it(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(limit=LIMIT_MB), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split("\n")[:2] == ["the limit is real", "done"], done.stderr[-2000:]
