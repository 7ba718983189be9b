"""``python -m benchmarks.reading``: memory for reading a Parquet file in batches.

Each reader runs in its own process, because the peak of a process never decreases.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

_READ = {
    "pyarrow's dataset scanner": """
import pyarrow.dataset as ds
scanner = ds.dataset([path], format="parquet").scanner(
    batch_size=16_384, batch_readahead=1, fragment_readahead=1, use_threads=False)
rows = sum(batch.num_rows for batch in scanner.to_batches())
""",
    "the file reader that fedclust uses": """
from pathlib import Path
from fedclust.data import Selection
from fedclust.data.streams import Stream
names = tuple(f"c{i}" for i in range(10))
stream = Stream((Path(path),), Selection(names, frozenset(), (), n_rows=16_384))
rows = sum(len(batch["c0"]) for batch in stream.batches())
""",
}
_FRAME = """
import resource, sys
import pyarrow.dataset, pyarrow.parquet, fedclust.data.streams
path = sys.argv[1]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{read}
print(rows, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def main(n_groups: int = 100) -> None:
    """Write a file of ten columns, read it with both readers, and print their memory."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        table = pa.table({f"c{i}": rng.normal(size=50_000) for i in range(10)})
        with parquet.ParquetWriter(file, table.schema) as writer:
            for _ in range(n_groups):
                writer.write_table(pa.table({f"c{i}": rng.normal(size=50_000) for i in range(10)}))
        print(f"file: {file.stat().st_size / 2**20:.0f} MB")
        for name, read in _READ.items():
            code = _FRAME.format(read=read)
            done = subprocess.run(
                [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True
            )
            rows, above = done.stdout.split()
            print(f"{name}: {int(rows):,} rows, peak {float(above):.0f} MB above the start")


if __name__ == "__main__":
    main()
