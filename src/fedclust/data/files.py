"""A client's files as columns: CSV and NPZ by themselves, Parquet and Feather through pyarrow."""

import csv
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core import ConfigError, DataError
from ..typing import Array

Columns = dict[str, Array]
NEEDS_ARROW = (
    "Parquet and Feather, and files read in batches, need pyarrow: pip install 'fedclust[study]'"
)


def read_table(files: Sequence[Path], gaps: Collection[str], id: str | None = None) -> Columns:
    """The rows of all files under one another; ids stay as they are written.

    As numbers, ids would lose leading zeros, and their last digits where they are long.
    """
    tables = [_READERS.get(file.suffix.lower(), _unknown)(file, gaps, id) for file in files]
    names = list(tables[0])
    for file, table in zip(files, tables, strict=True):
        if set(table) != set(names):
            odd = sorted(set(table) ^ set(names))
            raise DataError(f"{file}: columns {', '.join(odd)} are not in all files of this client")
    return {name: np.concatenate([table[name] for table in tables]) for name in names}


def _csv(file: Path, gaps: Collection[str], id: str | None) -> Columns:
    try:
        with open(file, newline="", encoding="utf-8-sig") as text:
            names, lines = _rows(csv.reader(text), file)
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise DataError(f"{file}: not a readable CSV file in UTF-8 ({problem})") from None
    values = zip(*lines, strict=True) if lines else [() for _ in names]
    return {
        name: _text(column) if name == id else _typed(column, gaps)
        for name, column in zip(names, values, strict=True)
    }


def _rows(reader: Any, file: Path) -> tuple[list[str], list[list[str]]]:
    names = next(reader, None)
    if not names:
        raise DataError(f"{file}: the file is empty")
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise DataError(f"{file}: two columns are called {twice!r}")
    lines = []
    for row in reader:
        if row and len(row) != len(names):
            wanted = len(names)
            raise DataError(f"{file}:{reader.line_num}: {len(row)} values for {wanted} columns")
        if row:
            lines.append(row)
    return names, lines


def _text(values: Sequence[str]) -> Array:
    return np.array([value.strip() for value in values], dtype=object)


def _typed(values: Sequence[str], gaps: Collection[str]) -> Array:
    """Numbers if all values are, gaps as NaN; else text, gaps as None."""
    stripped = [value.strip() for value in values]
    try:
        return np.array([np.nan if v in gaps else float(v) for v in stripped])
    except ValueError:
        return np.array([None if v in gaps else v for v in stripped], dtype=object)


def _npz(file: Path, gaps: Collection[str], id: str | None) -> Columns:
    try:
        with np.load(file, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError) as problem:
        raise DataError(f"{file}: not a readable NPZ file ({problem})") from None
    return {name: array for name, array in found.items() if array.ndim == 1}


def _arrow(file: Path, gaps: Collection[str], id: str | None) -> Columns:
    try:
        from pyarrow import feather, parquet
    except ImportError:
        raise ConfigError(f"{file}: {NEEDS_ARROW}") from None
    try:
        read: Any = feather.read_table if file.suffix == ".feather" else parquet.read_table
        table = read(file)
    except (OSError, ValueError) as problem:
        raise DataError(f"{file}: not readable ({problem})") from None
    return {name: as_array(table[name], name == id) for name in table.column_names}


def as_array(values: Any, is_id: bool = False) -> Array:
    """An Arrow column as numbers, gaps as NaN, or as objects, gaps as None."""
    if is_id:
        return np.array(values.to_pylist(), dtype=object)
    found: Array = values.to_numpy(zero_copy_only=False)
    return found.astype(float) if found.dtype.kind in "iub" else found


def _unknown(file: Path, gaps: Collection[str], id: str | None) -> Columns:
    known = ", ".join(sorted(_READERS))
    raise ConfigError(f"{file}: unknown kind of file; fedclust reads {known}")


_READERS = {".csv": _csv, ".npz": _npz, ".parquet": _arrow, ".feather": _arrow}
