"""``python -m benchmarks.reading``: memory and time for reading files.

Each reader runs in its own process, because the peak of a process never decreases.
"""

import gzip
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
stream = Stream((Path(path),), Selection(names, n_rows=16_384))
rows = sum(len(batch["c0"]) for batch in stream.batches())
""",
}
_BATCHES = _READ["the file reader that fedclust uses"]
_AT_ONCE = """
from pathlib import Path
from fedclust.data.files import read_table
rows = len(read_table([Path(path)])["c0"])
"""
_FRAME = """
import resource, sys, time
import pyarrow.csv, pyarrow.dataset, pyarrow.parquet, fedclust.data.streams
path = sys.argv[1]
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
{read}
seconds = time.process_time() - start
print(rows, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, seconds)
"""
_WITHOUT_ARROW = 'sys.modules["pyarrow"] = None\n'
_TEXTS = {  # file, encoding, how it is read
    "CSV": ("plain.csv", "utf-8", _BATCHES),
    "CSV with decimal commas": ("german.csv", "cp1252", _BATCHES),
    "CSV in UTF-16": ("wide.csv", "utf-16-le", _BATCHES),
    "CSV, gzip": ("plain.csv.gz", "utf-8", _BATCHES),
    "CSV at once": ("plain.csv", "utf-8", _AT_ONCE),
    "CSV at once, without pyarrow": ("plain.csv", "utf-8", _WITHOUT_ARROW + _AT_ONCE),
}


def main(n_groups: int = 100, text_mb: int = 100) -> None:
    """Read a Parquet file with two readers, and text files of several dialects."""
    with tempfile.TemporaryDirectory() as folder:
        _read_parquet(Path(folder) / "rows.parquet", n_groups)
        _read_texts(Path(folder), text_mb)


def _read_parquet(file: Path, n_groups: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    table = pa.table({f"c{i}": rng.normal(size=50_000) for i in range(10)})
    with parquet.ParquetWriter(file, table.schema) as writer:
        for _ in range(n_groups):
            writer.write_table(pa.table({f"c{i}": rng.normal(size=50_000) for i in range(10)}))
    print(f"Parquet file: {file.stat().st_size / 2**20:.0f} MB")
    for name, read in _READ.items():
        rows, above, _ = _measure(read, file)
        print(f"{name}: {rows:,} rows, peak {above:.0f} MB above the start")


def _read_texts(folder: Path, megabytes: int) -> None:
    rng, names = np.random.default_rng(0), ",".join(f"c{i}" for i in range(10))
    rows = rng.normal(size=(20_000, 10)) * 100
    part = "\n".join(",".join(f"{v:.5f}" for v in row) for row in rows) + "\n"
    n_parts, usual = megabytes * 10**6 // len(part), 0.0
    print(f"text: {megabytes} MB")
    for name, (file, encoding, read) in _TEXTS.items():
        _write(folder / file, encoding, [f"{names}\n", *[part] * n_parts])
        rows_read, above, seconds = _measure(read, folder / file)
        usual = usual or seconds
        print(
            f"{name}: {rows_read:,} rows, {seconds / usual:.1f} times the CPU time of the first, "
            f"peak {above:.0f} MB above the start"
        )


def _write(file: Path, encoding: str, parts: list[str]) -> None:
    with gzip.open(file, "wb", 1) if file.suffix == ".gz" else open(file, "wb") as opened:
        for part in parts:
            if "german" in file.name:
                part = part.replace(",", ";").replace(".", ",")
            opened.write(part.encode(encoding))


def _measure(read: str, file: Path) -> tuple[int, float, float]:
    """Rows, megabytes above the start, and CPU seconds of one reader in its own process."""
    command = [sys.executable, "-c", _FRAME.format(read=read), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, above, seconds = done.stdout.split()
    return int(rows), float(above), float(seconds)


if __name__ == "__main__":
    main()
