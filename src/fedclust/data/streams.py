"""Read a client's files in batches, so that memory holds one batch at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core import DataError
from .files import refuse_empty
from .formats import Columns, Selection, batch_reader_of, check_shapes, readable
from .kinds import Kind
from .settings import ReadOptions


@dataclass(frozen=True)
class Stream:
    """Columns of a client's files, read again in every pass."""

    files: tuple[Path, ...]
    selection: Selection

    def batches(self) -> Iterator[Columns]:
        """All rows, in the order of files and lines."""
        for file in self.files:
            reader = batch_reader_of(file)
            refuse_empty(file)
            with readable(file):
                for batch in reader.batches(file, self.selection):
                    yield check_shapes(file, batch)


def column_kinds(files: Sequence[Path], options: ReadOptions) -> Mapping[str, Kind]:
    """Names of the columns of all files, and what they hold."""
    kinds: dict[str, Kind] = {}
    for number, file in enumerate(files):
        reader = batch_reader_of(file)
        refuse_empty(file)
        with readable(file):
            in_file = reader.kinds(file, options)
        if number and in_file.keys() != kinds.keys():
            odd = ", ".join(sorted(in_file.keys() ^ kinds.keys()))
            raise DataError(f"{file}: columns {odd} are not in all files of this client")
        kinds = {name: _join(kind, kinds.get(name, kind)) for name, kind in in_file.items()}
    return kinds


def _join(one: Kind, other: Kind) -> Kind:
    """What a column holds whose files hold different things."""
    if one is other:
        return one
    if one.unreadable or other.unreadable:
        return one if one.unreadable else other
    return Kind.MIXED if one.numeric or other.numeric else Kind.TEXT


@dataclass(frozen=True, eq=False)
class InMemory:
    """Columns that are already in memory, as one batch."""

    columns: Columns

    def batches(self) -> Iterator[Columns]:
        """All rows at once."""
        yield self.columns


Source = InMemory | Stream
