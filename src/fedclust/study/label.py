"""Clusters for new rows, from files that may be larger than memory."""

from collections.abc import Collection, Sequence
from pathlib import Path

from ..client.labels import Labelled, check_label_format, refuse_id, write_labels
from ..clustering.model import Model
from ..clustering.preparation import encode_columns
from ..core import ConfigError, DataError
from ..data.files import read_table
from ..data.formats import BATCH_ROWS, Selection, format_of
from ..data.streams import InMemory, Source, Stream, column_kinds


def label_files(
    model: Model,
    files: Sequence[Path],
    target: Path,
    *,
    id: str | None = None,
    force: bool = False,
    batch_rows: int = BATCH_ROWS,
) -> Labelled:
    """Write labels of all rows of the files."""
    for file in files:
        if not file.is_file():
            raise DataError(f"there is no file {file}")
        if file.resolve() == target.resolve():
            raise ConfigError(f"{target}: labels would overwrite the data; give another --out")
    check_label_format(target)
    refuse_id(id, "--id")
    if target.exists() and not force:
        raise ConfigError(f"{target} exists already; choose another --out, or use --force")
    source = _source(model, tuple(files), id, batch_rows)
    who = str(files[0])
    columns = model.preparation.columns
    batches = ((batch, encode_columns(columns, batch, who)) for batch in source.batches())
    return write_labels(model, batches, target, id, who)


def _source(model: Model, files: tuple[Path, ...], id: str | None, batch_rows: int) -> Source:
    columns = model.preparation.columns
    names = [column.name for column in columns] + ([id] if id else [])
    if all(format_of(file).batches is None for file in files):
        held = read_table(files, model.na_values, id)
        _all_there(files[0], names, held)
        return InMemory(held)
    found = column_kinds(files, model.na_values)
    _all_there(files[0], names, found)
    for column in columns:
        if not column.categories and not found[column.name]:
            raise DataError(f"{files[0]}: column {column.name!r} holds words, not numbers")
    words = frozenset(column.name for column in columns if column.categories)
    selection = Selection(tuple(dict.fromkeys(names)), words, model.na_values, id, batch_rows)
    return Stream(files, selection)


def _all_there(file: Path, names: Sequence[str], found: Collection[str]) -> None:
    absent = [name for name in names if name not in found]
    if absent:
        raise DataError(f"{file}: there is no column {', '.join(map(repr, absent))}")
