"""Labels and memberships of a client's rows, written batch by batch to a file of the client."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..clustering.model import Model
from ..core import ConfigError, DataError
from ..core.files import make_folder, replacing
from ..data.formats import Columns, Writer, label_writer
from ..typing import Array, BoolArray, FloatArray

_CLUSTER, _MEMBERSHIP = "cluster", "membership_"  # columns of labels
Batch = tuple[Columns, FloatArray]  # columns as they were read, and encoded as numbers


class Labelled(NamedTuple):
    """How many rows each cluster has, and how many were left out for a missing value."""

    sizes: dict[int, int]
    left_out: int


def write_labels(
    model: Model, batches: Iterable[Batch], target: Path, id: str | None, who: str
) -> Labelled:
    """Write one line per row of the client's file, in its order.

    A row that is left out because of a missing value has an empty cluster and empty memberships.
    The file is written completely or not at all.
    """
    sizes, rows = np.zeros(len(model.ids), dtype=int), 0
    with _open_atomically(target, who) as writer:
        for columns, nearest in _label_batches(model, batches, id):
            writer.write(columns)
            sizes += np.bincount(nearest, minlength=len(sizes))
            rows += len(columns[_CLUSTER])
    counted = {id: int(size) for id, size in zip(model.ids, sizes, strict=True)}
    return Labelled(counted, rows - sum(counted.values()))


def write_columns(columns: dict[str, Array], target: Path, who: str) -> None:
    """Write labels whose columns are all in memory."""
    with _open_atomically(target, who) as writer:
        writer.write(columns)


@contextmanager
def _open_atomically(target: Path, who: str) -> Iterator[Writer]:
    """A writer whose file appears only when it is complete."""
    make_folder(target.parent)
    with replacing(target) as scratch:
        with label_writer(target, scratch) as writer:
            yield writer
        if not scratch.exists():
            raise DataError(f"{who}: there are no rows to label")


def _label_batches(
    model: Model, batches: Iterable[Batch], id: str | None
) -> Iterator[tuple[dict[str, Array], Array]]:
    first = 0
    for batch, encoded in batches:
        rows, kept = model.preparation.scale_rows(encoded)
        nearest = model.nearest(rows)
        name = id or "row"
        columns: dict[str, Array] = {name: batch[id] if id else np.arange(first, first + len(kept))}
        columns[_CLUSTER] = _spread(np.array(model.ids)[nearest], kept)
        if model.soft:
            U = model.memberships(rows)
            columns |= {
                f"{_MEMBERSHIP}{id}": _spread(U[:, c], kept) for c, id in enumerate(model.ids)
            }
        first += len(kept)
        yield columns, nearest


def _spread(values: Array, kept: BoolArray) -> Array:
    """Values of the rows that were kept, among masked ones where rows were left out."""
    all_rows: Any = np.zeros(len(kept), dtype=values.dtype)
    all_rows[kept] = values
    return np.ma.MaskedArray(all_rows, mask=~kept)


def refuse_id(id: str | None, key: str) -> None:
    """Refuse an id column whose name is also that of a column of labels."""
    if id is not None and (id == _CLUSTER or re.fullmatch(rf"{_MEMBERSHIP}\d+", id)):
        raise ConfigError(f"{key}: label files use this column name; rename the id column")


def refuse_unwritable(client: str, target: Path) -> None:
    """Refuse a place where labels cannot be written, before anything is computed."""
    folder = next(folder for folder in target.absolute().parents if folder.exists())
    if not os.access(folder, os.W_OK):
        raise ConfigError(
            f"client {client!r}: there is no permission to write labels to {folder}; set "
            '[outputs] labels_in = "run"'
        )


def check_label_format(target: Path) -> None:
    """Refuse a file format that labels cannot be written in, before anything is computed."""
    label_writer(target)
