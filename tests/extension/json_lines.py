"""A format as another package would define it, in one file: one JSON object per line."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np

from fedclust import DataError
from fedclust.data import BatchReader, Columns, Format, Kind, ReadOptions, Selection

Record = Mapping[str, Any]


def records(file: Path) -> Iterator[Record]:
    with open(file, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                raise DataError(f"{file}:{number}: the line is not a JSON object") from None
            yield record


def as_columns(rows: Sequence[Record], names: Collection[str], words: Collection[str]) -> Columns:
    def column(name: str) -> Any:
        values = [row.get(name) for row in rows]
        if name in words:
            return np.array([None if v is None else str(v) for v in values], dtype=object)
        return np.array([np.nan if v is None else v for v in values], dtype=float)

    return {name: column(name) for name in names}


def words_in(rows: Sequence[Record]) -> set[str]:
    return {name for row in rows for name, value in row.items() if isinstance(value, str)}


def read(file: Path, options: ReadOptions, id: str | None) -> Columns:
    rows = list(records(file))
    return as_columns(rows, rows[0].keys(), words_in(rows) | {id or ""})


def kinds(file: Path, options: ReadOptions) -> dict[str, Kind]:
    rows = list(islice(records(file), 100))
    return {name: Kind.TEXT if name in words_in(rows) else Kind.NUMBERS for name in rows[0]}


def batches(file: Path, selection: Selection) -> Iterator[Columns]:
    found = records(file)
    while rows := list(islice(found, selection.n_rows)):
        yield as_columns(rows, selection.names, selection.text_columns | {selection.id or ""})


class Writer:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        self._file = open(self._path, "w", encoding="utf-8")
        return self

    def write(self, columns: Columns) -> None:
        for row in zip(*(values.tolist() for values in columns.values()), strict=True):
            self._file.write(json.dumps(dict(zip(columns, row, strict=True))) + "\n")

    def __exit__(self, *problem: object) -> None:
        self._file.close()


JSON_LINES = Format("JSON Lines", (".jsonl",), read, BatchReader(kinds, batches), Writer)
