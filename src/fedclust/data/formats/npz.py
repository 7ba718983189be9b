"""NPZ files: one array per column, always read at once."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from ...core import DataError
from ...typing import Array
from ..settings import ReadOptions
from .format import Columns, Format


def _read(file: Path, options: ReadOptions, id: str | None) -> Columns:
    try:
        with open(file, "rb") as opened:
            arrays = np.load(opened, allow_pickle=False)
            if isinstance(arrays, np.ndarray):
                raise DataError(f"{file}: array without a name; save columns with numpy.savez")
            columns = {name: _column(file, name, arrays[name]) for name in arrays.files}
    except DataError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as problem:
        objects = "it has no arrays, or Python objects; save numbers or text"
        reason = objects if "allow_pickle" in str(problem) else problem
        raise DataError(f"{file}: not a readable NPZ file ({reason})") from None
    if not columns:
        raise DataError(f"{file}: the file is empty")
    if len({len(array) for array in columns.values()}) > 1:
        raise DataError(f"{file}: its arrays have different lengths")
    return columns


def _column(file: Path, name: str, array: Array) -> Array:
    if array.ndim != 1:
        raise DataError(f"{file}: array {name!r} has {array.ndim} axes; save one array per column")
    if array.dtype.kind in "cV":
        raise DataError(f"{file}: array {name!r} has type {array.dtype}; save numbers or text")
    return array.astype(str) if array.dtype.kind == "S" else array


NPZ = Format("NPZ", (".npz",), _read, typed=True)
