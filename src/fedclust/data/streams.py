"""A client's files, batch by batch: memory for a batch, not for the file."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core import DataError
from .files import refuse_empty
from .formats import Columns, Selection, batch_reader_of, check_shapes, readable


@dataclass(frozen=True)
class Stream:
    """Columns of a client's files, read again for every pass over them."""

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


def kinds(files: Sequence[Path], missing_values: Collection[str]) -> Mapping[str, bool]:
    """Names of the columns that all files have, and whether they hold numbers."""
    found: dict[str, bool] = {}
    for number, file in enumerate(files):
        reader = batch_reader_of(file)
        refuse_empty(file)
        with readable(file):
            here = reader.kinds(file, missing_values)
        if number and here.keys() != found.keys():
            odd = ", ".join(sorted(here.keys() ^ found.keys()))
            raise DataError(f"{file}: columns {odd} are not in all files of this client")
        found = {name: is_number and found.get(name, True) for name, is_number in here.items()}
    return found


@dataclass(frozen=True, eq=False)
class Held:
    """Columns that are in memory already: one batch."""

    columns: Columns

    def batches(self) -> Iterator[Columns]:
        """All rows at once."""
        yield self.columns


Source = Held | Stream
