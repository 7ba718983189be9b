"""Read a client's files in batches, so that memory holds one batch at a time."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core import DataError
from .files import refuse_empty
from .formats import Columns, Selection, batch_reader_of, check_shapes, readable


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


def column_kinds(files: Sequence[Path], missing_values: Collection[str]) -> Mapping[str, bool]:
    """Names of the columns of all files, and whether they are numeric."""
    numeric: dict[str, bool] = {}
    for number, file in enumerate(files):
        reader = batch_reader_of(file)
        refuse_empty(file)
        with readable(file):
            in_file = reader.kinds(file, missing_values)
        if number and in_file.keys() != numeric.keys():
            odd = ", ".join(sorted(in_file.keys() ^ numeric.keys()))
            raise DataError(f"{file}: columns {odd} are not in all files of this client")
        numeric = {
            name: is_number and numeric.get(name, True) for name, is_number in in_file.items()
        }
    return numeric


@dataclass(frozen=True, eq=False)
class InMemory:
    """Columns that are already in memory, as one batch."""

    columns: Columns

    def batches(self) -> Iterator[Columns]:
        """All rows at once."""
        yield self.columns


Source = InMemory | Stream
