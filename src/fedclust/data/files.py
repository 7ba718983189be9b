"""Read all rows of a client's files as columns."""

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from ..core import DataError
from .formats import Columns, check_shapes, format_of, readable

LABELS = ".labels"  # how the stems of files end that `fedclust label` writes beside the data


def named_files(path: Path) -> list[Path]:
    """Return the file itself, or the files that match a glob such as "north/*.csv".

    A glob does not match files of labels.
    """
    if path.is_file():
        return [path]
    if not any(c in path.name for c in "*?["):
        return []
    found = (file for file in path.parent.glob(path.name) if file.is_file())
    return sorted(file for file in found if not file.stem.endswith(LABELS))


def read_table(
    files: Sequence[Path], missing_values: Collection[str], id: str | None = None
) -> Columns:
    """Concatenate the rows of all files; ids are kept as written.

    As numbers, ids would lose leading zeros, and long ones their last digits.
    """
    tables = [_read(file, missing_values, id) for file in files]
    names = list(tables[0])
    for file, table in zip(files, tables, strict=True):
        if set(table) != set(names):
            odd = sorted(set(table) ^ set(names))
            raise DataError(f"{file}: columns {', '.join(odd)} are not in all files of this client")
    return {name: np.concatenate([table[name] for table in tables]) for name in names}


def _read(file: Path, missing_values: Collection[str], id: str | None) -> Columns:
    format = format_of(file)
    refuse_empty(file)
    with readable(file):
        return check_shapes(file, format.read(file, missing_values, id))


def refuse_empty(file: Path) -> None:
    """Refuse a folder, an empty file and a file that cannot be opened."""
    try:
        size = file.stat().st_size
    except OSError as problem:
        raise DataError(f"{file}: not readable ({problem.strerror})") from None
    if file.is_dir():
        raise DataError(f"{file}: is a folder; name the files in it, for example with *.csv")
    if size == 0:
        raise DataError(f"{file}: the file is empty")
