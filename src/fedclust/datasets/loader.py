"""Load public data sets by name, from a folder or from the internet.

The folder is set by ``FEDCLUST_DATA``; the default is the user's cache. A file there is
``<name>.npz`` with arrays ``X``, ``y``, ``client`` and names. The content of downloads is checked,
independent of file format and row order.

>>> penguins = load("penguins")
>>> penguins.X.shape, penguins.client_names
((342, 4), ('Biscoe', 'Dream', 'Torgersen'))
"""

import csv
import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import numpy as np

from ..core import ConfigError, DataError
from ..core.files import write_atomically
from ..typing import Array, FloatArray, IntArray
from .dataset import Dataset
from .sources import ELSEWHERE, SOURCES

_NAMES = ("feature_names", "target_names", "client_names")


def folder() -> Path:
    """Folder from which data sets are read, and to which downloads are saved."""
    if os.environ.get("FEDCLUST_DATA"):
        return Path(os.environ["FEDCLUST_DATA"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fedclust"


def available() -> list[str]:
    """Names of all data sets: included, in the folder, or available for download."""
    in_folder = {path.stem for path in folder().glob("*.npz")}
    return sorted({*_INCLUDED, *SOURCES, *in_folder})


def load(name: str, *, download: bool = True) -> Dataset:
    """Load a data set by name; with ``download=False``, only from this machine."""
    if name in _INCLUDED:
        return _INCLUDED[name]()
    path = folder() / f"{name}.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as file:
            return _dataset(name, dict(file))
    if name in ELSEWHERE:
        raise DataError(f"{name}: {path} does not exist; get the data from {ELSEWHERE[name]}")
    if name not in SOURCES:
        close = get_close_matches(name, available(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ConfigError(f"unknown data set {name!r}{hint}")
    if not download:
        raise DataError(f"{name}: {path} does not exist, and download=False")
    try:
        arrays = SOURCES[name].fetch()
    except OSError as problem:  # no network, or no reply
        raise DataError(
            f"{name}: download failed ({problem}); put {path.name} into {path.parent}"
        ) from None
    expected = SOURCES[name].content
    if expected and _hash_arrays(arrays) != expected:
        raise DataError(f"{name}: the downloaded data differ from the expected content")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]
    return _dataset(name, arrays)


def content_hash(X: FloatArray, y: IntArray) -> str:
    """Hash of rows and labels, independent of file format, number type and row order."""
    table = np.column_stack([X, y]).astype("<f8")
    order = np.lexsort(table.T[::-1])
    return sha256(np.ascontiguousarray(table[order]).tobytes()).hexdigest()


def _hash_arrays(arrays: Mapping[str, Array]) -> str:
    """Hash of a data set, or of a collection of data sets with common labels."""
    if "X" in arrays:
        return content_hash(arrays["X"], arrays["y"])
    parts = [content_hash(arrays[n], arrays["y"]) for n in sorted(arrays) if n != "y"]
    return sha256("".join(parts).encode()).hexdigest()


def _dataset(name: str, arrays: Mapping[str, Array]) -> Dataset:
    known = {"X", "y", "client", *_NAMES}
    feature_names, target_names, client_names = (tuple(map(str, arrays.get(n, ()))) for n in _NAMES)
    return Dataset(
        name,
        arrays.get("X", np.empty((0, 0))),
        arrays.get("y"),
        arrays.get("client"),
        feature_names=feature_names,
        target_names=target_names,
        client_names=client_names,
        extra={n: a for n, a in arrays.items() if n not in known},
    )


def _read_included(file: str) -> tuple[list[str], Array]:
    """The header and the values of a file of this package, as text."""
    text = (files(__package__) / file).read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    return header, np.array(rows)


def _heart_disease() -> Dataset:
    """Heart disease in four hospitals; a missing value is NaN, class 1 is any disease.

    A. Janosi, W. Steinbrunn, M. Pfisterer, R. Detrano: "Heart Disease", UCI Machine Learning
    Repository, 1989, https://doi.org/10.24432/C52P4X; CC BY 4.0. These are the processed files of
    the four hospitals, in one table.
    """
    header, table = _read_included("heart_disease.csv")
    hospitals = list(dict.fromkeys(table[:, 0].tolist()))
    num = table[:, 1].astype(np.int64)
    return Dataset(
        "heart_disease",
        np.where(table[:, 2:] == "", "nan", table[:, 2:]).astype(float),
        (num > 0).astype(np.int64),
        np.array([hospitals.index(name) for name in table[:, 0].tolist()]),
        feature_names=tuple(header[2:]),
        target_names=("no disease", "disease"),
        client_names=tuple(hospitals),
        extra={"num": num},
    )


def _penguins() -> Dataset:
    """Palmer penguins (K. Gorman, A. Horst, A. Hill; CC0): three islands, three species."""
    header, table = _read_included("penguins.csv")
    islands, client = np.unique(table[:, 0], return_inverse=True)
    species, y = np.unique(table[:, 1], return_inverse=True)
    return Dataset(
        "penguins",
        table[:, 2:].astype(float),
        y,
        client,
        feature_names=tuple(header[2:]),
        target_names=tuple(species.tolist()),
        client_names=tuple(islands.tolist()),
    )


_INCLUDED: Mapping[str, Callable[[], Dataset]] = {
    "penguins": _penguins,
    "heart_disease": _heart_disease,
}
