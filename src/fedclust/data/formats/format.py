"""What a file format is to fedclust: one record of the functions that read and write its files."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ...core import ConfigError, DataError
from ...typing import Array

Columns = dict[str, Array]
BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Selection:
    """What to read from a file in batches."""

    names: tuple[str, ...]  # the columns to read
    words: frozenset[str]  # those of them that hold words, not numbers
    missing_values: tuple[str, ...]  # what stands for a missing value in text files
    id: str | None = None  # the column that names records: its values are kept as written
    n_rows: int = BATCH_ROWS  # the most rows of a batch


class Writer(Protocol):
    """A file of labels that is written batch by batch.

    Constructing it checks that it can be written here, entering it opens the file.
    """

    def __enter__(self) -> Self: ...
    def __exit__(self, *problem: object) -> None: ...

    def write(self, columns: Columns) -> None:
        """Append rows. A masked array has missing values where it is masked."""
        ...


@dataclass(frozen=True)
class BatchReader:
    """How files of a format are read in batches.

    Parameters
    ----------
    kinds:
        Names of all columns of a file, and whether they hold numbers, without reading all rows.
        Its second argument lists the words that stand for a missing value in text files.
    batches:
        The rows of the selected columns, at most `Selection.n_rows` at a time.
    """

    kinds: Callable[[Path, Collection[str]], Mapping[str, bool]]
    batches: Callable[[Path, Selection], Iterable[Columns]]


@dataclass(frozen=True)
class Format:
    """A kind of file, recognized by its suffix.

    Readers return one array for each column: numbers as floats, NaN where a value is missing, or
    words as objects, None where a value is missing. They raise `DataError`, `ValueError` or
    `OSError` for a file that they cannot read; no message may repeat a value from the file.

    Parameters
    ----------
    name:
        What people call it, such as "Parquet".
    suffixes:
        The suffixes of its files, in lower case and with the dot.
    read:
        All columns of a file. Its second argument lists the words that stand for a missing value
        in text files. The third is the name of the id column or None; ids are kept as written.
    batches:
        How its files are read in batches. None: they are read as a whole only.
    write:
        Makes a writer of labels to a path. None: labels are not written to such files.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path, Collection[str], str | None], Columns]
    batches: BatchReader | None = None
    write: Callable[[Path], Writer] | None = None

    def __post_init__(self) -> None:
        if not self.suffixes:
            raise ConfigError(f"format {self.name!r}: suffixes is empty; give one at least")
        for suffix in self.suffixes:
            if suffix != Path(f"file{suffix}").suffix or suffix != suffix.lower():
                raise ConfigError(
                    f"format {self.name!r}: suffix {suffix!r} must be a dot and lower-case text"
                )


def refuse_twice(file: Path, names: Sequence[str]) -> None:
    """Refuse two columns of one name: nobody could say which is meant."""
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise DataError(f"{file}: two columns are called {twice!r}; name each its own")


def check_shapes(file: Path, columns: Columns) -> Columns:
    """Refuse columns that are not one value for each row."""
    for name, values in columns.items():
        if values.ndim != 1:
            raise DataError(f"{file}: column {name!r} must have one value for each row")
    if len({len(values) for values in columns.values()}) > 1:
        raise DataError(f"{file}: its columns have different lengths")
    return columns


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Turn what a library raises about a file into a `DataError` that names the file."""
    try:
        yield
    except (ConfigError, DataError):
        raise
    except (OSError, ValueError, KeyError, NotImplementedError) as problem:
        raise DataError(f"{file}: not readable ({_first_line(problem)})") from None


def _first_line(problem: Exception) -> str:
    """The first line of a library's message; the others are for its developers."""
    message = problem.args[0] if isinstance(problem, KeyError) and problem.args else problem
    return (str(message).splitlines() or [type(problem).__name__])[0]
