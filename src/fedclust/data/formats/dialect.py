"""The dialect of a CSV file: encoding, delimiter, comments, column names, notation of numbers.

It is detected in the first lines, always in the same way. What a later line contradicts is an
error, and never a wrong number.
"""

import codecs
import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...core import DataError
from ..kinds import Kind, kind_of, unreadable_kind
from ..numbers import Notation, NotationRules, collect_evidence, evidence_of
from ..settings import ReadOptions
from ..text import parse_column
from ._text import detect_encoding, is_compressed, read_head, skip_lines
from .format import Reading
from .header import find_names, name_columns, refuse_data_as_names

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_COMMENT = "#"
_MARKS = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}
_SEP = "sep="  # first line of some files that Excel has written: the delimiter


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    encoding: str
    delimiter: str
    comment: str  # lines that start with it are ignored; "": there are none
    ignored: int  # lines before the column names that are not data
    header_lines: int  # lines up to the column names, those included
    names: tuple[str, ...]
    renamed: bool  # some columns have no name in the file
    notations: dict[str, Notation | None]  # None: numbers can be read in two ways
    kinds: dict[str, Kind]  # judged by the first lines
    text: str  # in words, for users

    @property
    def skips(self) -> bool:
        """Whether some lines are not data."""
        return bool(self.comment or self.ignored)

    @property
    def plain(self) -> bool:
        """Whether other readers understand the file as it is, but for its delimiter."""
        utf8 = codecs.lookup(self.encoding).name == "utf-8"
        return utf8 and not self.skips and not self.renamed

    @property
    def reading(self) -> Reading:
        """What users should know about it."""
        return Reading(self.text, {n: kind for n, kind in self.kinds.items() if kind.unreadable})


def dialect_of(file: Path, options: ReadOptions) -> Dialect:
    """The dialect of a file, with the user's settings; detected once until the file changes."""
    status = file.stat()
    return _detect(file, options, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=64)
def _detect(file: Path, options: ReadOptions, size: int, changed: int) -> Dialect:
    encoding = options.encoding or detect_encoding(file)
    lines, complete = read_head(file, encoding)
    ignored, delimiter = _first_lines(lines, options)
    comment, ignored = _comments(lines, ignored, options, delimiter)
    if options.header_line is None:
        ignored = _below_title(lines, ignored, comment, delimiter, options)
    kept = list(skip_lines(lines, ignored, comment))
    delimiter = delimiter or _delimiter(file, kept)
    rows = list(_rows(kept, delimiter))
    if len(rows) > 1 and not complete:
        rows.pop()  # it may go on after the end of the head
    if not rows:
        beyond = options.header_line is not None and options.header_line > len(lines)
        raise DataError(f"{file}: the file {'ends before header_line' if beyond else 'is empty'}")
    header_lines, first = rows[0]
    _check_delimiter(file, first, options, kept)
    fitting = [row for _, row in rows[1:] if len(row) == len(first)]
    if len(rows) > 1 and not fitting:
        line, row = rows[1]
        raise misfit(file, line, row, len(first), next_line=True)
    cells = _columns(fitting, len(first))
    refuse_data_as_names(file, header_lines, first, cells, options.missing_words)
    names = name_columns(file, first)
    rules = NotationRules(options.decimal, options.thousands, delimiter)
    evidence = [collect_evidence(column, options.missing_words) for column in cells]
    notations = dict(zip(names, rules.resolve(evidence), strict=True))
    found = dict(zip(names, evidence, strict=True))
    kinds = {
        name: unreadable_kind(rules, found[name], notations[name])
        or _kind(column, notations[name], options)
        for name, column in zip(names, cells, strict=True)
    }
    shown = {name: n for name, n in notations.items() if found[name] is not None}
    text = ", ".join(_describe(file, encoding, delimiter, comment, ignored, shown))
    renamed = list(names) != list(first)
    return Dialect(
        encoding, delimiter, comment, ignored, header_lines, names, renamed, notations, kinds, text
    )


def misfit(file: Path, line: int, row: Sequence[str], wanted: int, *, next_line: bool) -> DataError:
    """A line that does not have one value per column name."""
    hint = "; if the column names are in a later line, set header_line under [data]"
    if not next_line:
        comment = '; if it is a comment, set comment = "#" under [data]'
        hint = comment if row[0].startswith(_COMMENT) else ""
    values = "1 value" if len(row) == 1 else f"{len(row)} values"
    return DataError(f"{file}:{line}: {values} for {wanted} columns{hint}")


def _first_lines(lines: Sequence[str], options: ReadOptions) -> tuple[int, str | None]:
    """How many first lines are not data, and the delimiter if the user or the file says it."""
    if options.header_line is not None:
        return options.header_line - 1, options.delimiter
    first = lines[0].strip().strip('"') if lines else ""
    if first.lower().startswith(_SEP) and len(first) == len(_SEP) + 1:
        return 1, options.delimiter or first[-1]
    if first.lower() == _SEP and lines[0].rstrip("\r\n").endswith("\t"):
        return 1, options.delimiter or "\t"
    return 0, options.delimiter


def _comments(
    lines: Sequence[str], ignored: int, options: ReadOptions, delimiter: str | None
) -> tuple[str, int]:
    """The comment character, and how many first lines are not data.

    A first line such as "#id,age" is no comment if it has as many values as the lines after it,
    and those are data.
    """
    if options.comment is not None:
        return options.comment, ignored
    after = lines[ignored:]
    n = next((i for i, line in enumerate(after) if not line.startswith(_COMMENT)), len(after))
    if n == 0:
        return (_COMMENT if _has_comments(after, delimiter) else ""), ignored
    body = after[n:]
    mark = delimiter or _best_delimiter(body)
    last = next(iter(_rows(after[n - 1 : n], mark)), (0, []))[1]
    data = next(iter(_rows(body, mark)), (0, []))[1]
    is_header = len(last) == len(data) and any(evidence_of(c.strip()) is not None for c in data)
    return ("", ignored + n - 1) if is_header else (_COMMENT, ignored)


def _has_comments(lines: Sequence[str], delimiter: str | None) -> bool:
    """Whether lines in the middle or at the end are comments: they do not fit the others."""
    marked = [line for line in lines if line.startswith(_COMMENT)]
    if not marked:
        return False
    others = list(skip_lines(lines, 0, _COMMENT))
    mark = delimiter or _best_delimiter(others)
    widths = {len(row) for _, row in _rows(others, mark)}
    return len(widths) == 1 and widths.isdisjoint(len(row) for _, row in _rows(marked, mark))


def _below_title(
    lines: Sequence[str], ignored: int, comment: str, delimiter: str | None, options: ReadOptions
) -> int:
    """How many first lines are not data, with those of a title above the column names."""
    kept, found = list(skip_lines(lines, ignored, comment)), []
    for mark in (delimiter,) if delimiter else DELIMITERS:
        rows = list(_rows(kept, mark))
        if number := find_names([row for _, row in rows], options.missing_words):
            found.append((len(rows[number][1]), rows[number - 1][0]))
        elif rows and len(rows[0][1]) > 1 and {len(row) for _, row in rows} == {len(rows[0][1])}:
            return ignored  # a table from its first line on
    return max(found)[1] if found else ignored


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not empty, and the number of the line at which each ends."""
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error:  # a value of 128 KB; the reader of all rows reports it
        return


def _delimiter(file: Path, lines: Sequence[str]) -> str:
    inner = file.with_suffix("") if is_compressed(file) else file
    return _best_delimiter(lines, "\t" if inner.suffix.lower() in (".tsv", ".tab") else ",")


def _best_delimiter(lines: Sequence[str], usual: str = ",") -> str:
    """The delimiter that gives all lines the same number of values.

    Of several, the one that leaves most values numeric or missing. If none fits, the one that is
    most frequent among the column names.
    """
    found = {mark: [row for _, row in _rows(lines, mark)] for mark in DELIMITERS}
    wide = {mark: rows for mark, rows in found.items() if rows and len(rows[0]) > 1}
    if not wide:  # one column, whose numbers may have a decimal comma
        values = [line.strip() for line in lines[1:] if line.strip()]
        commas = any("," in value for value in values)
        return ";" if commas and all(evidence_of(v) is not None for v in values) else usual
    fitting = {m: rows for m, rows in wide.items() if {len(row) for row in rows} == {len(rows[0])}}
    if not fitting:
        return max(wide, key=lambda mark: (_share_of_fitting(wide[mark]), len(wide[mark][0])))
    return max(fitting, key=lambda mark: (_share_of_values(fitting[mark]), mark == usual))


def _share_of_fitting(rows: Sequence[Sequence[str]]) -> float:
    """How many rows have as many values as the first, as a share rounded to tenths."""
    return round(Counter(map(len, rows))[len(rows[0])] / len(rows), 1)


def _share_of_values(rows: Sequence[Sequence[str]]) -> float:
    """The share of cells that do not contain a delimiter of another kind beside other text."""
    cells = [cell for row in rows for cell in row]
    odd = sum(any(mark in cell for mark in ";\t|") for cell in cells)
    return 1 - odd / len(cells)


def _check_delimiter(
    file: Path, names: Sequence[str], options: ReadOptions, lines: Sequence[str]
) -> None:
    if options.delimiter is not None and len(names) == 1:
        other = _best_delimiter(lines)
        if other != options.delimiter and len(next(_rows(lines, other))[1]) > 1:
            raise DataError(
                f"{file}: delimiter = {options.delimiter!r} under [data], but its values are "
                f"separated by {DELIMITERS[other]}"
            )


def _columns(rows: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    return list(zip(*rows, strict=True)) if rows else [() for _ in range(width)]


def _kind(cells: Sequence[str], notation: Notation | None, options: ReadOptions) -> Kind:
    if not cells:
        return Kind.NUMBERS
    return kind_of(np.asarray(parse_column(cells, options.missing_words, notation)))


def _describe(
    file: Path,
    encoding: str,
    delimiter: str,
    comment: str,
    ignored: int,
    notations: dict[str, Notation | None],
) -> Iterator[str]:
    """The dialect in words; commas, UTF-8 and plain numbers go without saying."""
    if delimiter != ",":
        yield f"separated by {DELIMITERS.get(delimiter, repr(delimiter))}"
    yield from _describe_numbers({name: n for name, n in notations.items() if n is not None})
    if encoding != "utf-8":
        yield f"encoding {encoding}"
    if is_compressed(file):
        yield "compressed"
    if ignored:
        yield f"first {ignored} lines ignored" if ignored > 1 else "first line ignored"
    if comment:
        yield f"lines that start with {comment!r} ignored"


def _describe_numbers(notations: dict[str, Notation]) -> Iterator[str]:
    decimals = {n.decimal for n in notations.values()} - {""}
    if decimals == {","}:
        yield "decimal comma"
    elif len(decimals) > 1:
        listed = [repr(name) for name, n in notations.items() if n.decimal == ","]
        yield f"decimal comma in {', '.join(listed)}"
    for mark in sorted({n.thousands for n in notations.values()} - {""}):
        yield f"thousands separated by {_MARKS[mark]}"
