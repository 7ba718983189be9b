"""A file format: the functions that read and write its files."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from ...core import ConfigError, DataError
from ...typing import Array
from ..kinds import Kind
from ..settings import ReadOptions

Columns = dict[str, Array]
BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Selection:
    """What to read from a file in batches."""

    names: tuple[str, ...]  # the columns to read
    text_columns: frozenset[str] = frozenset()  # those of them that contain text, not numbers
    options: ReadOptions = ReadOptions()
    id: str | None = None  # the id column, whose values are kept as written
    n_rows: int = BATCH_ROWS  # maximum number of rows of a batch


class Writer(Protocol):
    """A file of labels that is written batch by batch.

    The constructor checks that the file can be written; entering the context opens it.
    """

    def __enter__(self) -> Self: ...
    def __exit__(self, *problem: object) -> None: ...

    def write(self, columns: Columns) -> None:
        """Append rows. Masked entries of a masked array are missing values."""
        ...


@dataclass(frozen=True)
class BatchReader:
    """How files of a format are read in batches.

    Parameters
    ----------
    kinds:
        Names of all columns of a file, and what they hold, without reading all rows.
    batches:
        The rows of the selected columns, at most `Selection.n_rows` at a time. A batch of a column
        that should be numeric and is not is text.
    """

    kinds: Callable[[Path, ReadOptions], Mapping[str, Kind]]
    batches: Callable[[Path, Selection], Iterable[Columns]]


@dataclass(frozen=True)
class Reading:
    """How a file is read, as far as that was detected in it."""

    text: str = ""  # for users, such as "separated by semicolons, decimal comma"
    unreadable: Mapping[str, Kind] = field(default_factory=dict)  # columns of numbers, and why


@dataclass(frozen=True)
class Format:
    """A file format, recognized by its suffix.

    Readers return one array per column: numbers as floats with NaN for missing values, or text as
    objects with None for missing values. They raise `DataError`, `ValueError` or
    `OSError` for a file that they cannot read; no message may quote a value from the file.

    Parameters
    ----------
    name:
        Its name for users, such as "Parquet".
    suffixes:
        The suffixes of its files, in lower case and with the dot.
    read:
        All columns of a file. The third argument is the name of the id column or None; ids are
        kept as written.
    batches:
        How its files are read in batches. None: they are always read at once.
    write:
        Creates a writer of labels to a path. None: labels cannot be written to such files.
    inspect:
        How a file is read. None: nothing has to be detected in such files.
    lines:
        The line of each row of a file, for messages. None: rows are counted from 1.
    compressed:
        Whether its files may be compressed, as in "people.csv.gz".
    typed:
        Whether its files say which columns are numeric. Text is then never meant to be numeric.
    marks_missing:
        Whether words in its files can stand for missing values.
    extra:
        The extra of fedclust that reads its files, such as "study"; "" if none is needed.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path, ReadOptions, str | None], Columns]
    batches: BatchReader | None = None
    write: Callable[[Path], Writer] | None = None
    inspect: Callable[[Path, ReadOptions], Reading] | None = None
    lines: Callable[[Path, ReadOptions], Iterable[int]] | None = None
    compressed: bool = False
    typed: bool = False
    marks_missing: bool = False
    extra: str = ""

    def __post_init__(self) -> None:
        if not self.suffixes:
            raise ConfigError(f"format {self.name!r}: suffixes is empty; give at least one")
        for suffix in self.suffixes:
            if suffix != Path(f"file{suffix}").suffix or suffix != suffix.lower():
                raise ConfigError(
                    f"format {self.name!r}: suffix {suffix!r} must be a dot and lower-case text"
                )


def check_shapes(file: Path, columns: Columns) -> Columns:
    """Refuse columns that do not have one value per row."""
    for name, values in columns.items():
        if values.ndim != 1:
            raise DataError(f"{file}: column {name!r} must have one value per row")
    if len({len(values) for values in columns.values()}) > 1:
        raise DataError(f"{file}: its columns have different lengths")
    return columns


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Convert a library's error about a file to a `DataError` that names the file."""
    try:
        yield
    except (ConfigError, DataError):
        raise
    except (OSError, ValueError, KeyError, NotImplementedError) as problem:
        raise DataError(f"{file}: not readable ({_first_line(problem)})") from None


def _first_line(problem: Exception) -> str:
    """First line of a library's message; the rest is for its developers."""
    message = problem.args[0] if isinstance(problem, KeyError) and problem.args else problem
    return (str(message).splitlines() or [type(problem).__name__])[0]
