"""A client's files as columns: CSV and NPZ by themselves, Parquet and Feather through pyarrow."""

import csv
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..core import ConfigError, DataError
from ..typing import Array
from . import text

Columns = dict[str, Array]
NEEDS_ARROW = (
    "Parquet and Feather, and files read in batches, need pyarrow: pip install 'fedclust[study]'"
)


def named_files(path: Path) -> list[Path]:
    """The file of that name; or, if it is a glob such as "north/*.csv", the files that it names."""
    if path.is_file():
        return [path]
    if not any(c in path.name for c in "*?["):
        return []
    return sorted(file for file in path.parent.glob(path.name) if file.is_file())


def read_table(files: Sequence[Path], gaps: Collection[str], id: str | None = None) -> Columns:
    """The rows of all files under one another; ids stay as they are written.

    As numbers, ids would lose leading zeros, and their last digits where they are long.
    """
    tables = [_read(file, gaps, id) for file in files]
    names = list(tables[0])
    for file, table in zip(files, tables, strict=True):
        if set(table) != set(names):
            odd = sorted(set(table) ^ set(names))
            raise DataError(f"{file}: columns {', '.join(odd)} are not in all files of this client")
    return {name: np.concatenate([table[name] for table in tables]) for name in names}


def _read(file: Path, gaps: Collection[str], id: str | None) -> Columns:
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        known = ", ".join(sorted(_READERS))
        raise ConfigError(f"{file}: unknown kind of file; fedclust reads {known}")
    refuse_empty(file)
    return reader(file, gaps, id)


def refuse_empty(file: Path) -> None:
    """Refuse what holds nothing to read, whatever its kind."""
    try:
        size = file.stat().st_size
    except OSError as problem:
        raise DataError(f"{file}: not readable ({problem.strerror})") from None
    if file.is_dir():
        raise DataError(f"{file} is a folder; name the files in it")
    if size == 0:
        raise DataError(f"{file}: the file is empty")


def _csv(file: Path, gaps: Collection[str], id: str | None) -> Columns:
    with _readable(file), open(file, newline="", encoding="utf-8-sig") as opened:
        reader = csv.reader(opened)
        names = _names(reader, file)
        lines = _lines(reader, file, len(names))
    values = zip(*lines, strict=True) if lines else [() for _ in names]
    return {
        name: text.ids(column) if name == id else text.numbers_or_words(column, gaps)
        for name, column in zip(names, values, strict=True)
    }


def csv_names(file: Path) -> list[str]:
    """The names in the first line of a CSV file."""
    with _readable(file), open(file, newline="", encoding="utf-8-sig") as opened:
        return _names(csv.reader(opened), file)


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as problem:
        raise DataError(
            f"{file}: not a readable CSV file in UTF-8 ({problem.reason}); save it as UTF-8"
        ) from None
    except (OSError, csv.Error) as problem:
        raise DataError(f"{file}: not a readable CSV file ({problem})") from None


def _names(reader: Any, file: Path) -> list[str]:
    names: list[str] = next((row for row in reader if row), [])
    if not names:
        raise DataError(f"{file}: the file is empty")
    _check_names(file, names)
    return names


def _lines(reader: Any, file: Path, wanted: int) -> list[list[str]]:
    lines = []
    for row in reader:
        if row and len(row) != wanted:
            raise DataError(f"{file}:{reader.line_num}: {len(row)} values for {wanted} columns")
        if row:
            lines.append(row)
    return lines


def _check_names(file: Path, names: Sequence[str]) -> None:
    """Refuse a first line that is no line of names; what it holds may be somebody's."""
    if all(_is_number(name) for name in names):
        raise DataError(f"{file}: the first line holds numbers; it must hold the columns' names")
    if len(names) == 1 and any(c in names[0] for c in ";\t|"):
        raise DataError(
            f"{file}: its values seem to be separated by something else than commas; save it with "
            "commas, or as Parquet"
        )
    refuse_twice(file, names)


def refuse_twice(file: Path, names: Sequence[str]) -> None:
    """Refuse two columns of one name: nobody could say which is meant."""
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise DataError(f"{file}: two columns are called {twice!r}; name each its own")


def first_line(problem: Exception) -> str:
    """What a library says of a file; further lines are for those who write libraries."""
    said = problem.args[0] if isinstance(problem, KeyError) else problem
    return (str(said).splitlines() or [type(problem).__name__])[0]


def _is_number(name: str) -> bool:
    try:
        text.number(name)
    except ValueError:
        return False
    return True


def _npz(file: Path, gaps: Collection[str], id: str | None) -> Columns:
    try:
        with open(file, "rb") as opened:
            arrays = np.load(opened, allow_pickle=False)
            if isinstance(arrays, np.ndarray):
                raise DataError(f"{file}: one array without a name; save columns with numpy.savez")
            found = {name: _column(file, name, arrays[name]) for name in arrays.files}
    except DataError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as problem:
        objects = "it holds no arrays, or Python objects; save numbers or text"
        what = objects if "allow_pickle" in str(problem) else problem
        raise DataError(f"{file}: not a readable NPZ file ({what})") from None
    if not found:
        raise DataError(f"{file}: the file is empty")
    if len({len(array) for array in found.values()}) > 1:
        raise DataError(f"{file}: its arrays have different lengths")
    return found


def _column(file: Path, name: str, array: Array) -> Array:
    if array.ndim != 1:
        raise DataError(
            f"{file}: array {name!r} has {array.ndim} axes; save each column as an array"
        )
    if array.dtype.kind in "cV":
        raise DataError(f"{file}: array {name!r} holds {array.dtype}; save numbers or text")
    return array.astype(str) if array.dtype.kind == "S" else array


def _arrow(file: Path, gaps: Collection[str], id: str | None) -> Columns:
    try:
        from pyarrow import feather, parquet
    except ImportError:
        raise ConfigError(f"{file}: {NEEDS_ARROW}") from None
    try:
        if file.suffix.lower() == ".feather":
            table = feather.read_table(file)
            refuse_twice(file, table.column_names)
        else:
            refuse_twice(file, parquet.read_schema(file).names)
            table = parquet.read_table(file)
    except DataError:
        raise
    except (OSError, ValueError, KeyError, NotImplementedError) as problem:
        raise DataError(f"{file}: not readable ({first_line(problem)})") from None
    return {name: as_array(table[name], name == id) for name in table.column_names}


def as_array(values: Any, is_id: bool = False) -> Array:
    """An Arrow column as numbers, gaps as NaN, or as objects, gaps as None."""
    if is_id:
        return np.array(values.to_pylist(), dtype=object)
    kind = str(values.type)
    if kind == "null":
        return np.full(len(values), np.nan)
    if kind.startswith("dictionary"):  # categories, whatever they are written as
        return np.array(values.to_pylist(), dtype=object)
    if kind.startswith("decimal"):
        values = values.cast("float64")
    found: Array = values.to_numpy(zero_copy_only=False)
    if kind == "bool":  # words, as in a text file
        return np.array([None if v is None else str(v).lower() for v in found], dtype=object)
    return found.astype(float) if found.dtype.kind in "iu" else found


_READERS = {".csv": _csv, ".npz": _npz, ".parquet": _arrow, ".feather": _arrow}
