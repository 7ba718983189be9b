"""Settings for reading data files: a study, each of its clients and every client.toml have them."""

import codecs
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated

from ..core import ConfigError
from ..settings import Key
from .values import ALWAYS_MISSING, NA_VALUES

DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
_COMMON = ("utf-8", "utf-16", "cp1252", "latin-1", "cp1250", "shift_jis", "gb18030")


class Encodings(Collection[str]):
    """The names of all text encodings that Python knows; a list shows the common ones."""

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and "\u00e9 ".encode(name, "replace") != b""
        except (LookupError, ValueError):
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMON)

    def __len__(self) -> int:
        return len(_COMMON)


def same_encoding(one: str, other: str) -> bool:
    """Whether two names mean the same encoding."""
    return codecs.lookup(one).name == codecs.lookup(other).name


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How data files are read; what is None is detected in each file."""

    na_values: Annotated[
        tuple[str, ...],
        Key(
            "further words in text files and sheets that stand for a missing value",
            aliases=("missing_values", "null_values", "na", "nan", "null"),
        ),
    ] = ()
    keep_default_na: Annotated[
        bool, Key("also treat the usual words, such as NA or NULL, as missing values")
    ] = True
    delimiter: Annotated[
        str | None,
        Key(
            "character between the values of a line; without it, detected",
            pattern=r'[^\r\n"]',
            form='one character, such as ";" or "\\t"',
            aliases=("sep", "separator", "delim"),
        ),
    ] = None
    decimal: Annotated[
        str | None,
        Key(
            "decimal mark; without it, detected",
            choices=(".", ","),
            aliases=("dec", "decimal_mark", "decimal_separator"),
        ),
    ] = None
    thousands: Annotated[
        str | None,
        Key(
            'character between groups of three digits, "" for none; without it, detected',
            choices=("", ",", ".", " ", "'"),
            aliases=("thousands_separator", "thousands_sep", "grouping"),
        ),
    ] = None
    encoding: Annotated[
        str | None,
        Key("encoding of text files; without it, detected", Encodings(), aliases=("charset",)),
    ] = None
    comment: Annotated[
        str | None,
        Key(
            "lines that start with this character are ignored; without it, detected",
            pattern=r'[^\s"]',
            form='one character, such as "#"',
            aliases=("comments", "comment_char"),
        ),
    ] = None
    header_line: Annotated[
        int | None,
        Key(
            "line of the column names; lines before it are ignored",
            low=1,
            aliases=("header", "skip_lines", "skiprows", "skip_rows"),
        ),
    ] = None
    sheet: Annotated[
        str | None,
        Key(
            "sheet of an Excel file; without it, the first",
            aliases=("sheet_name", "worksheet", "tab"),
        ),
    ] = None
    dates: Annotated[
        str | None,
        Key(
            "order of day and month in dates such as 03/04/2024",
            choices=(DAY_FIRST, MONTH_FIRST),
            aliases=("date_format", "date_order", "dayfirst"),
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.decimal is not None and self.decimal == self.thousands:
            raise ConfigError(f"decimal and thousands are both {self.decimal!r}; change one")

    @cached_property
    def missing_words(self) -> frozenset[str]:
        """All words that stand for a missing value, without blanks around them."""
        words = (*NA_VALUES, *self.na_values) if self.keep_default_na else self.na_values
        return frozenset((*(word.strip() for word in words), *ALWAYS_MISSING))


@dataclass(frozen=True, kw_only=True)
class FileSettings(ReadOptions):
    """How the files of a client are read, and which of its columns identifies records."""

    id: Annotated[
        str | None,
        Key(
            "column that identifies records; it is never a feature",
            aliases=("id_column", "index", "key", "record_id"),
        ),
    ] = None
    batch_rows: Annotated[
        int | None,
        Key(
            "rows per batch; 0: no batches; without it, files of 1 GB or more in batches",
            low=0,
            aliases=("batch_size", "chunksize", "chunk_rows"),
        ),
    ] = None

    @property
    def reading(self) -> ReadOptions:
        """The part that is about reading files."""
        return ReadOptions(**{one.name: getattr(self, one.name) for one in fields(ReadOptions)})
