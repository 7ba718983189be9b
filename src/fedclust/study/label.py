"""Label new rows, from files that can be larger than memory: one file of labels for each."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..client.labels import Batch, Labelled, check_label_format, refuse_id, write_labels
from ..clustering.model import Model
from ..clustering.preparation import Column, encode_columns
from ..clustering.preparation.column import UNREADABLE, ColumnError
from ..core import ConfigError, DataError
from ..data.files import LABELS, describe_absent, inspect, kinds_of, read_table
from ..data.formats import BATCH_ROWS, Selection, format_of
from ..data.kinds import Kind
from ..data.names import describe_near
from ..data.streams import InMemory, Source, Stream, column_kinds

_SUFFIX = "parquet"  # of label files, unless a file is named


@dataclass(frozen=True)
class LabelledFile:
    """A file whose rows were labelled."""

    source: Path
    target: Path
    labelled: Labelled
    remarks: tuple[str, ...]  # what the user should know of it


def label_files(
    model: Model,
    files: Sequence[Path],
    *,
    out: Path | None = None,
    id: str | None = None,
    force: bool = False,
    batch_rows: int = BATCH_ROWS,
) -> list[LabelledFile]:
    """Write a file of labels for each file.

    Labels go beside the data. `out` is another folder or, for a single file, the file of its
    labels. Rows are named by the id column of the study, or by `id`.
    """
    refuse_id(id, "--id")
    targets = choose_targets(files, out)
    for file, target in targets.items():
        if not file.is_file():
            raise DataError(describe_absent(file, file))
        if target.resolve() in {other.resolve() for other in files}:
            raise ConfigError(f"{target}: labels would overwrite the data; give another --out")
        check_label_format(target)
        if target.exists() and not force:
            raise ConfigError(f"{target} exists already; choose another --out, or use --force")
    return [_label_file(model, file, target, id, batch_rows) for file, target in targets.items()]


def choose_targets(files: Sequence[Path], out: Path | None) -> dict[Path, Path]:
    """Where the labels of each file go; no two files share a target."""
    if out is not None and out.suffix and not out.is_dir():
        if len(files) > 1:
            raise ConfigError(
                f"--out: {len(files)} files have {len(files)} files of labels, but {out} is one; "
                "name a folder"
            )
        return {files[0]: out}
    folders = {file: file.parent if out is None else out for file in files}
    stems = Counter((folders[file], file.stem) for file in files)
    targets: dict[Path, Path] = {}
    for file, folder in folders.items():
        # people.csv and people.parquet of one folder keep their suffixes.
        name = file.stem if stems[folder, file.stem] == 1 else file.name
        targets[file] = folder / f"{name}{LABELS}.{_SUFFIX}"
    if repeated := [t for t, n in Counter(targets.values()).items() if n > 1]:
        both = " and ".join(str(file) for file, target in targets.items() if target == repeated[0])
        raise ConfigError(
            f"--out: labels of {both} would both go to {repeated[0]}; leave out --out"
        )
    if len(targets) < len(files):
        twice = next(file for file, n in Counter(files).items() if n > 1)
        raise ConfigError(f"{twice} is named twice")
    return targets


def _label_file(
    model: Model, file: Path, target: Path, id: str | None, batch_rows: int
) -> LabelledFile:
    columns, bounds = model.preparation.columns, _BoundsCheck(model.preparation.columns)
    used, source = _source(model, file, id, batch_rows)
    order, partial = model.reading.dates, model.preparation.partial
    batches = (
        (batch, encode_columns(columns, batch, str(file), order, may_lack=partial))
        for batch in source.batches()
    )
    labelled = write_labels(model, bounds.watch(batches), target, used, str(file))
    remarks = [f"{file.name}: {remark}" for remark in bounds.remarks()]
    if used is None and model.id_column is not None:
        remarks.append(
            f"{file.name}: there is no id column {model.id_column!r}, so its rows are numbered"
        )
    return LabelledFile(file, target, labelled, tuple(remarks))


def _source(model: Model, file: Path, id: str | None, batch_rows: int) -> tuple[str | None, Source]:
    """The id column that the file has, and its columns."""
    columns, options = model.preparation.columns, model.reading
    if format_of(file).batches is None:
        held = read_table((file,), options, id or model.id_column)
        kinds = kinds_of(held, {file: inspect(file, options)})
        return _check_columns(model, file, id, kinds), InMemory(held)
    found = column_kinds((file,), options)
    used = _check_columns(model, file, id, found)
    names = [column.name for column in columns if column.name in found]
    names += [used] if used else []
    words = frozenset(column.name for column in columns if column.holds_words)
    selection = Selection(tuple(dict.fromkeys(names)), words, options, used, batch_rows)
    return used, Stream((file,), selection)


def _check_columns(
    model: Model, file: Path, id: str | None, kinds: Mapping[str, Kind]
) -> str | None:
    """Refuse a file without the columns that are needed; the id column of its rows, if any."""
    columns = model.preparation.columns
    needed = [column.name for column in columns] + ([id] if id else [])
    absent = [name for name in needed if name not in kinds]
    if model.preparation.partial and len(absent) < len(columns):
        columns = tuple(column for column in columns if column.name in kinds)
        absent = [name for name in absent if name == id]
    if absent:
        near = describe_near(absent[0], [name for name in kinds if name not in needed])
        hint = f"; {near}" if near else ""
        raise DataError(f"{file}: there is no column {' and no '.join(map(repr, absent))}{hint}")
    for column in columns:
        if column.holds_words or kinds[column.name] is Kind.NUMBERS:
            continue
        if kinds[column.name].unreadable:
            raise ColumnError(str(file), column.name, UNREADABLE[kinds[column.name]])
        if not kinds[column.name].numeric:
            raise DataError(f"{file}: column {column.name!r} holds text, not numbers")
    return id or (model.id_column if model.id_column in kinds else None)


class _BoundsCheck:
    """Counts values outside the public bounds of the study, while batches pass."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._outside = dict.fromkeys(columns, 0)

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same batches."""
        for batch, encoded in batches:
            start = 0
            for column in self._columns:
                own = encoded[:, start : start + len(column.encoded_names)]
                start += own.shape[1]
                if column.box is not None:
                    low, high = column.box.T
                    self._outside[column] += int(((own < low) | (own > high)).sum())
            yield batch, encoded

    def remarks(self) -> Iterator[str]:
        """A sentence for each column with such values."""
        for column, n in self._outside.items():
            if n:
                bounds = f"{column.low:g} to {column.high:g}"
                yield (
                    f"{n:,} values of {column.name!r} are outside the bounds of the study "
                    f"({bounds}), so no such row was part of it"
                )
