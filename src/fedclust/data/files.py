"""Read all rows of a client's files as columns."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from ..core import DataError
from ..typing import Array
from .formats import Columns, Reading, check_shapes, format_of, has_format, readable
from .formats._text import is_compressed
from .kinds import Kind, kind_of, text_kind
from .settings import ReadOptions

_CLOSE = 0.75  # similarity of names of files, of which most share a suffix
_UNPACKED = 8  # how many times larger a compressed text file may be than it looks

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


def describe_absent(given: str | Path, path: Path) -> str:
    """Why a path names no file, and the file that was probably meant."""
    if path.is_dir():
        kinds = Counter(file.suffix for file in path.iterdir() if has_format(file))
        suffix = kinds.most_common(1)[0][0] if kinds else ".csv"
        return f"{given} is a folder; name its files, such as {given}/*{suffix}"
    folder = path.parent
    if not folder.is_dir():
        return f"there is no file {given}; the folder {folder} does not exist"
    if any(c in path.name for c in "*?["):
        return f"no file matches {given} in the folder {folder.resolve()}"
    names = [file.name for file in folder.iterdir() if file.is_file()]
    lower = [name.lower() for name in names]
    close = get_close_matches(path.name.lower(), lower, n=1, cutoff=_CLOSE)
    meant = next((name for name in names if close and name.lower() == close[0]), None)
    hint = f"; did you mean {meant!r}?" if meant else ""
    return f"there is no file {given} in the folder {folder.resolve()}{hint}"


def size_in_memory(file: Path) -> int:
    """An estimate of how many bytes of text a file holds."""
    return file.stat().st_size * (_UNPACKED if is_compressed(file) else 1)


def read_table(
    files: Sequence[Path], options: ReadOptions | None = None, id: str | None = None
) -> Columns:
    """The rows of all files; ids are kept as written.

    As numbers, ids would lose leading zeros, and long ones their last digits.
    """
    return concatenate(read_tables(files, options or ReadOptions(), id))


def read_tables(files: Sequence[Path], options: ReadOptions, id: str | None) -> list[Columns]:
    """The rows of each file; all have the same columns."""
    tables = [_read(file, options, id) for file in files]
    names = set(tables[0])
    for file, table in zip(files, tables, strict=True):
        if set(table) != names:
            odd = sorted(set(table) ^ names)
            raise DataError(f"{file}: columns {', '.join(odd)} are not in all files of this client")
    return tables


def concatenate(tables: Sequence[Columns]) -> Columns:
    """The rows of several tables with the same columns."""
    return {name: _join([table[name] for table in tables]) for name in tables[0]}


def _join(parts: Sequence[Array]) -> Array:
    """One column of several tables; numbers beside text become objects."""
    if len(parts) == 1:
        return parts[0]
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def kinds_of(columns: Columns, readings: Mapping[Path, Reading]) -> dict[str, Kind]:
    """What columns in memory hold, from files that were read like this."""
    typed = all(format_of(file).typed for file in readings)
    unreadable = {name: kind for one in readings.values() for name, kind in one.unreadable.items()}
    return {
        name: unreadable.get(name) or _kind_of(values, typed) for name, values in columns.items()
    }


def _kind_of(values: Array, typed: bool) -> Kind:
    kind = kind_of(values)
    return text_kind(kind) if typed and values.dtype.kind in "OUT" else kind


def inspect(file: Path, options: ReadOptions) -> Reading:
    """How a file is read, as far as that has to be detected."""
    format = format_of(file)
    refuse_empty(file)
    if format.inspect is None:
        return Reading()
    with readable(file):
        return format.inspect(file, options)


def locate(files: Sequence[Path], options: ReadOptions, row: int) -> str:
    """The file and line of a row, counted from 0 over all files, for messages to its owner."""
    for file in files:
        find_lines = format_of(file).lines
        if find_lines is None:
            return f"row {row + 1}" if file == files[0] else ""
        for line in find_lines(file, options):
            if row == 0:
                return f"{file.name}:{line}"
            row -= 1
    return ""


def _read(file: Path, options: ReadOptions, id: str | None) -> Columns:
    format = format_of(file)
    refuse_empty(file)
    with readable(file):
        return check_shapes(file, format.read(file, options, id))


def refuse_empty(file: Path) -> None:
    """Refuse a folder, an empty file and a file that cannot be opened."""
    try:
        size = file.stat().st_size
    except OSError as problem:
        raise DataError(f"{file}: not readable ({problem.strerror})") from None
    if file.is_dir():
        raise DataError(f"{file}: is a folder; name the files in it, for example with *.csv")
    if not os.access(file, os.R_OK):
        raise DataError(f"{file}: you have no permission to read it; change its permissions")
    if size == 0:
        raise DataError(f"{file}: the file is empty")
