"""A local step over a file needs the memory of a batch, not of the file."""

import subprocess
import sys
from pathlib import Path

import pytest

# By kind of file: the limit, and how many times larger the values are as float64. Text has a higher
# limit, because pyarrow reads up to 32 MB of it ahead.
KINDS = {"parquet": (24, 10), "csv": (48, 5), "csv.gz": (48, 3)}

CODE = """
import gzip
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
kind = "{kind}"


def write_parquet(path, n_parts):
    rng, writer = np.random.default_rng(0), None
    for _ in range(n_parts):
        table = pa.table({{name: rng.normal(size=ROWS) for name in names}})
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table)
    writer.close()


def write_text(path, n_parts):
    german = kind != "csv"  # semicolons, decimal commas, Latin-1, a comment, compressed
    rows = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)) * 100
    part = "\\n".join(",".join(f"{{v:.5f}}" for v in row) for row in rows) + "\\n"
    head = ",".join(names) + "\\n"
    if german:
        part, head = (t.replace(",", ";").replace(".", ",") for t in (part, head))
        head = "# größe\\n" + head
    raw = part.encode("cp1252")
    with (gzip.open(path, "wb", 1) if german else open(path, "wb")) as file:
        file.write(head.encode("cp1252"))
        for _ in range(n_parts):
            file.write(raw)


def step(path, n):
    stream = Stream((path,), Selection(names, n_rows=ROWS))
    def read():
        for columns in stream.batches():
            yield Data.of(np.column_stack([columns[name] for name in names]))
    plan = Plan(make("llf-fcm", 3, init=np.arange(3.0)[:, None] * np.ones(COLUMNS)))
    down = plan.algorithm.broadcast(plan.algorithm.start(Schema(COLUMNS), plan.rng("server", -1)))
    return respond(plan, Request(0, ("a",), down), "a", Batches(read, n, COLUMNS))


folder, write = Path(sys.argv[1]), write_parquet if kind == "parquet" else write_text
small, large = folder / f"small.{{kind}}", folder / f"large.{{kind}}"
n_parts = -(-{times} * LIMIT // (ROWS * COLUMNS * 8))
write(small, 10)
write(large, n_parts)
step(small, 10 * ROWS)
now = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
most = int(now.split()[1]) * 1024 + LIMIT
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
try:
    np.ones((n_parts * ROWS, COLUMNS))
except MemoryError:
    print("the limit is real")
assert step(large, n_parts * ROWS).weight.sum() > 0
print("done")
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc (Linux)")
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_much_larger_than_the_limit_is_read_within_it(
    tmp_path: Path, kind: str
) -> None:
    pytest.importorskip("pyarrow")
    limit, times = KINDS[kind]
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(limit=limit, times=times, kind=kind), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.split("\n")[:2] == ["the limit is real", "done"], done.stderr[-2000:]
