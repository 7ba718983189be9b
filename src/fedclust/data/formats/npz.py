"""NPZ files: one array for each column. They are read as a whole only."""

import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path

import numpy as np

from ...core import DataError
from ...typing import Array
from .format import Columns, Format


def _read(file: Path, missing_values: Collection[str], id: str | None) -> Columns:
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


NPZ = Format("NPZ", (".npz",), _read)
