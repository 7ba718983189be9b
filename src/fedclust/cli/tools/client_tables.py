"""The clients' files as `fedclust init` sees them: their columns, and what users should know."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ...client.files import is_index
from ...client.summary_row import is_summary
from ...clustering.preparation.column import UNREADABLE, UNUSABLE
from ...core import DataError
from ...data.files import (
    describe_absent,
    inspect,
    kinds_of,
    locate,
    named_files,
    read_table,
    size_in_memory,
)
from ...data.formats import Columns, Reading, Selection, format_of
from ...data.kinds import Kind, find_strays
from ...data.names import near_names
from ...data.settings import ReadOptions
from ...data.streams import Stream, column_kinds
from ...data.values import NA_VALUES, is_missing
from ...typing import Array

_SAMPLE_BYTES = 2**28  # of larger files only the first rows are read
_SHOWN = 2  # places in one note
_SIGN = r"[$\u20ac\u00a3\u00a5]"
_UNIT = rf"[^\W\d_][^\s\d]{{0,7}}|[%\u2030\u00b0][CF]?|{_SIGN}"
_NUMBER = r"[-+]?[0-9][0-9.,' ]*"
_MEASURE = re.compile(  # "23.6 kg", "12%", "$2,255.70"
    rf"\s*(?:{_NUMBER}(?P<unit>{_UNIT})|(?P<sign>{_SIGN})\s*{_NUMBER})\s*"
)


@dataclass(frozen=True, eq=False)
class ClientTable:
    """The first file of a client."""

    file: Path
    options: ReadOptions
    columns: Columns
    kinds: Mapping[str, Kind]
    reading: Reading
    complete: bool  # whether these are all rows of the file

    @property
    def n_rows(self) -> int:
        """How many rows were read."""
        return len(next(iter(self.columns.values()), ()))

    def words(self, name: str) -> list[str]:
        """The values of a column of text, in the order of the file."""
        return [str(v) for v in self.columns[name].tolist() if not is_missing(v)]

    @cached_property
    def ends_with_total(self) -> bool:
        """Whether the last row is not a record."""
        return self.complete and is_summary(self.columns, self.n_rows - 1)

    def records(self, name: str) -> Array:
        """The values of a column in all rows that are records."""
        return self.columns[name][: self.n_rows - self.ends_with_total]

    @cached_property
    def _as_written(self) -> Columns:
        """The columns with words such as "None", which usually stand for a missing value."""
        if not self.complete or not format_of(self.file).marks_missing:
            return {}
        return read_table([self.file], replace(self.options, keep_default_na=False))

    def lost_words(self, name: str) -> dict[str, int]:
        """Words of a column of text that are read as missing values, and how often."""
        if name not in self._as_written or self.kinds[name] is not Kind.TEXT:
            return {}
        written = self._as_written[name].tolist()
        return {word: written.count(word) for word in NA_VALUES if word and word in written}


def open_table(client: str, path: Path, options: ReadOptions) -> ClientTable:
    """The client's file, or the first file that matches a glob."""
    files = named_files(path)
    if not files:
        raise DataError(f"client {client!r}: {describe_absent(path, path)}")
    file = files[0]
    reading = inspect(file, options)
    if format_of(file).batches is None or size_in_memory(file) <= _SAMPLE_BYTES:
        columns = read_table([file], options)
        kinds = kinds_of(columns, {file: reading})
        return ClientTable(file, options, columns, kinds, reading, complete=True)
    known = column_kinds([file], options)
    words = frozenset(name for name, kind in known.items() if not kind.numeric)
    first = next(Stream((file,), Selection(tuple(known), words, options)).batches(), {})
    return ClientTable(file, options, first, known, reading, complete=False)


Tables = Mapping[str, ClientTable]


def notes_about(tables: Tables) -> Iterator[str]:
    """What the user should know about the files, one line each."""
    yield from _notes(tables, lambda table: table.reading.text)
    yield from near_names({table.file.name: table.columns for table in tables.values()})
    yield from _notes(tables, lambda table: "" if table.n_rows else "there are no rows")
    yield from _notes(tables, _total)
    names = dict.fromkeys(name for table in tables.values() for name in table.columns)
    for name in names:
        if not is_index(name):
            yield from (f"column {name!r}: {note}" for note in notes_about_column(name, tables))


def notes_about_column(name: str, tables: Tables) -> Iterator[str]:
    """What the user should know about a column, with the files that it concerns."""
    having = {client: table for client, table in tables.items() if name in table.columns}
    yield from _notes(having, lambda table: _strays(name, table))
    yield from _notes(having, lambda table: _lost_words(name, table))
    yield from _notes(having, lambda table: _units(name, table))
    filled = [table for table in having.values() if table.n_rows]
    text = [table for table in filled if not table.kinds[name].numeric]
    if 0 < len(text) < len(filled):
        example = next((f", such as {word!r}" for word in text[0].words(name)), "")
        files = _listed([table.file.name for table in text])
        yield f"has numbers in some files, and text in {files}{example}"


def _notes(tables: Tables, note: Callable[[ClientTable], str]) -> Iterator[str]:
    """Equal notes about several files as one."""
    grouped: dict[str, list[str]] = {}
    for table in tables.values():
        if text := note(table):
            grouped.setdefault(text, []).append(table.file.name)
    for text, files in grouped.items():
        yield f"{_listed(files)}: {text}"


def _listed(names: list[str]) -> str:
    if len(names) <= _SHOWN + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} others"


def _total(table: ClientTable) -> str:
    if not table.ends_with_total:
        return ""
    where = locate([table.file], table.options, table.n_rows - 1).rpartition(":")[2]
    return (
        f"the last row looks like a total or is almost empty (line {where}); "
        "remove it from the file"
    )


def _strays(name: str, table: ClientTable) -> str:
    kind = table.kinds[name]
    if kind.unreadable:
        return UNUSABLE[UNREADABLE[kind]]
    if kind is not Kind.MIXED:
        return ""
    found = find_strays(table.columns[name].tolist())
    where = "" if found.first is None else locate([table.file], table.options, found.first)
    first = f"; first in line {where.rpartition(':')[2]}" if ":" in where else ""
    sampled = "" if table.complete else " in the first rows"
    return f"{found}{sampled}{first}"


def _units(name: str, table: ClientTable) -> str:
    """A column whose values are all numbers with a unit, a currency or a percent sign."""
    if table.kinds[name] is not Kind.TEXT or not (words := table.words(name)):
        return ""
    units = {found["unit"] or found["sign"] for w in words if (found := _MEASURE.fullmatch(w))}
    if len(units) != 1 or not all(map(_MEASURE.fullmatch, words)):
        return ""
    return f"all values are numbers with {units.pop()!r}; remove it to cluster by this column"


def _lost_words(name: str, table: ClientTable) -> str:
    lost = [f"{n} x {word!r}" for word, n in table.lost_words(name).items()]
    if not lost:
        return ""
    return f"{', '.join(lost)} read as missing; if it is a category, set keep_default_na = false"
