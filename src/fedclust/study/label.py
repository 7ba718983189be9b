"""Label new rows, from files that can be larger than memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..client.labels import Labelled, check_label_format, refuse_id, write_labels
from ..clustering.model import Model
from ..clustering.preparation import Column, encode_columns
from ..clustering.preparation.column import UNREADABLE, ColumnError
from ..core import ConfigError, DataError
from ..data.files import describe_absent, inspect, kinds_of, read_table
from ..data.formats import BATCH_ROWS, Selection, format_of
from ..data.kinds import Kind
from ..data.names import describe_near
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
            raise DataError(describe_absent(file, file))
        if file.resolve() == target.resolve():
            raise ConfigError(f"{target}: labels would overwrite the data; give another --out")
    check_label_format(target)
    refuse_id(id, "--id")
    if target.exists() and not force:
        raise ConfigError(f"{target} exists already; choose another --out, or use --force")
    source = _source(model, tuple(files), id, batch_rows)
    who = str(files[0])
    columns = model.preparation.columns
    order = model.reading.dates
    batches = ((batch, encode_columns(columns, batch, who, order)) for batch in source.batches())
    return write_labels(model, batches, target, id, who)


def _source(model: Model, files: tuple[Path, ...], id: str | None, batch_rows: int) -> Source:
    columns, options = model.preparation.columns, model.reading
    names = [column.name for column in columns] + ([id] if id else [])
    if all(format_of(file).batches is None for file in files):
        held = read_table(files, options, id)
        readings = {file: inspect(file, options) for file in files}
        _check_columns(files[0], names, columns, kinds_of(held, readings))
        return InMemory(held)
    _check_columns(files[0], names, columns, column_kinds(files, options))
    words = frozenset(column.name for column in columns if column.holds_words)
    selection = Selection(tuple(dict.fromkeys(names)), words, options, id, batch_rows)
    return Stream(files, selection)


def _check_columns(
    file: Path, names: Sequence[str], columns: Sequence[Column], kinds: Mapping[str, Kind]
) -> None:
    absent = [name for name in names if name not in kinds]
    if absent:
        near = describe_near(absent[0], kinds)
        hint = f"; {near}" if near else ""
        raise DataError(f"{file}: there is no column {', '.join(map(repr, absent))}{hint}")
    for column in columns:
        if column.holds_words or kinds[column.name] is Kind.NUMBERS:
            continue
        if kinds[column.name].unreadable:
            raise ColumnError(str(file), column.name, UNREADABLE[kinds[column.name]])
        if not kinds[column.name].numeric:
            raise DataError(f"{file}: column {column.name!r} holds text, not numbers")
