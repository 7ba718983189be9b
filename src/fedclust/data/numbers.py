"""How numbers are written: the decimal mark and the thousands separator of a column.

Marks are detected column by column. "1.234,56" and "12,5" settle what a comma means; "1,234" alone
does not, because it is 1234 in one country and 1.234 in another. Such a column takes the decimal
mark of the other columns if that is usual for files with this delimiter. Otherwise it is ambiguous,
and the user has to set the mark.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from functools import cached_property

_GROUPS = {" ": " \u00a0\u2009\u202f", "'": "'\u2019"}  # all spellings of a separator
_EXPONENT = "(?:[eE][+-]?[0-9]+)?"


@dataclass(frozen=True)
class Notation:
    """The decimal mark and the thousands separator of a column.

    Without a decimal mark only integers are numbers: a later value must not be read in a way that
    the first lines of the file do not support.
    """

    decimal: str = "."
    thousands: str = ""

    @property
    def plain(self) -> bool:
        """Whether numbers are written as in most programming languages."""
        return self == PLAIN

    @cached_property
    def pattern(self) -> str:
        """A regular expression for all numbers, for Python and for Arrow."""
        marks = re.escape(_GROUPS.get(self.thousands, self.thousands))
        grouped = f"[1-9][0-9]{{0,2}}(?:[{marks}][0-9]{{3}})+|" if marks else ""
        mark = re.escape(self.decimal)
        fraction = f"(?:{mark}[0-9]*)?" if mark else ""
        short = f"|{mark}[0-9]+" if mark else ""
        return f"[+-]?(?:(?:{grouped}[0-9]+){fraction}{short}){_EXPONENT}"

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @property
    def separators(self) -> str:
        """All characters that stand between groups of digits."""
        return _GROUPS.get(self.thousands, self.thousands)

    def parse(self, text: str) -> float:
        """A number, or ValueError; "1_0" is a code, not ten."""
        if self.plain:
            return parse_number(text)
        if not self._compiled.fullmatch(text):
            raise ValueError("not a number")
        return float(self._strip(text))

    def normalise(self, text: str) -> str:
        """A number in plain notation; any other text as it is."""
        if self.plain or not self._compiled.fullmatch(text):
            return text
        return self._strip(text)

    def _strip(self, text: str) -> str:
        for mark in self.separators:
            text = text.replace(mark, "")
        return text.replace(self.decimal, ".") if self.decimal else text


PLAIN, INTEGERS = Notation(), Notation("")


def parse_number(text: str) -> float:
    """A number in plain notation, or ValueError; "1_0" is a code, not ten."""
    if "_" in text:
        raise ValueError("not a number")
    return float(text)


class Evidence(IntFlag):
    """What the numbers of a column show about their notation."""

    NONE = 0
    POINT = 1  # 12.5: the point is a decimal mark
    COMMA = 2  # 12,5
    POINT_GROUPS = 4  # 1.234.567 or 1.234,5: the point separates thousands
    COMMA_GROUPS = 8
    SPACE_GROUPS = 16
    QUOTE_GROUPS = 32
    MAYBE_POINT = 64  # 1.234
    MAYBE_COMMA = 128  # 1,234


_NUMBER = re.compile(r"[+-]?([0-9.,'\u2019 \u00a0\u2009\u202f]*[0-9][.,]?)" + _EXPONENT)
_SHAPES: tuple[tuple[re.Pattern[str], Evidence], ...] = tuple(
    (re.compile(shape), evidence)
    for shape, evidence in (
        (r"[0-9]+", Evidence.NONE),
        (r"[1-9][0-9]{0,2}\.[0-9]{3}", Evidence.MAYBE_POINT),
        (r"[1-9][0-9]{0,2},[0-9]{3}", Evidence.MAYBE_COMMA),
        (r"[0-9]*\.[0-9]*", Evidence.POINT),
        (r"[0-9]*,[0-9]*", Evidence.COMMA),
        (r"[1-9][0-9]{0,2}(\.[0-9]{3}){2,}", Evidence.POINT_GROUPS),
        (r"[1-9][0-9]{0,2}(,[0-9]{3}){2,}", Evidence.COMMA_GROUPS),
        (r"[1-9][0-9]{0,2}(\.[0-9]{3})+,[0-9]*", Evidence.POINT_GROUPS | Evidence.COMMA),
        (r"[1-9][0-9]{0,2}(,[0-9]{3})+\.[0-9]*", Evidence.COMMA_GROUPS | Evidence.POINT),
        *(
            (rf"[1-9][0-9]{{0,2}}([{_GROUPS[mark]}][0-9]{{3}})+{fraction}", groups | decimal)
            for mark, groups in ((" ", Evidence.SPACE_GROUPS), ("'", Evidence.QUOTE_GROUPS))
            for fraction, decimal in (
                ("", Evidence.NONE),
                (r"\.[0-9]*", Evidence.POINT),
                (",[0-9]*", Evidence.COMMA),
            )
        ),
    )
)
_SAYS_POINT = Evidence.POINT | Evidence.COMMA_GROUPS
_SAYS_COMMA = Evidence.COMMA | Evidence.POINT_GROUPS


def evidence_of(text: str) -> Evidence | None:
    """What a value shows about its notation; None: it is not a number in any notation."""
    number = _NUMBER.fullmatch(text)
    if number is None:
        return None
    return next((found for shape, found in _SHAPES if shape.fullmatch(number[1])), None)


def collect_evidence(cells: Iterable[str], missing: Collection[str]) -> Evidence | None:
    """What the values of a column show; None: most of them are not numbers in any notation."""
    found, numbers, others = Evidence.NONE, 0, 0
    for cell in cells:
        text = cell.strip()
        if text in missing:
            continue
        evidence = evidence_of(text)
        if evidence is None:
            others += 1
        else:
            numbers += 1
            found |= evidence
    return found if numbers > others else None


@dataclass(frozen=True)
class NotationRules:
    """What is known before a file is read: the user's settings, and the delimiter."""

    decimal: str | None = None
    thousands: str | None = None
    delimiter: str = ","

    def resolve(self, columns: Sequence[Evidence | None]) -> list[Notation | None]:
        """The notation of each column; None: its numbers must not be read.

        `fedclust.data.kinds.unreadable_kind` says why. A column without evidence of its own gets
        the marks of the file. Columns of text have plain notation, so that their words stay as
        they are.
        """
        common = self._common_decimal([found for found in columns if found is not None])
        own = [PLAIN if found is None else self._resolve(found, common) for found in columns]
        groups = {n.thousands for n in own if n and n.decimal == common} - {""}
        if len(groups) != 1:
            return own
        (thousands,) = groups
        shared = Notation(common or "", thousands)
        return [
            shared if found is not None and notation == Notation(common or "") else notation
            for found, notation in zip(columns, own, strict=True)
        ]

    def contradicts(self, found: Evidence) -> bool:
        """Whether a column has numbers that the settings rule out."""
        own = _own_decimal(found)
        other_decimal = self.decimal is not None and own not in ("", self.decimal)
        return other_decimal or (bool(own) and own == self.thousands)

    @property
    def _default(self) -> str:
        """The decimal mark if no number has one; unknown unless values are separated by commas."""
        return "." if self.delimiter == "," or self.thousands is not None else ""

    def _trusts(self, common: str) -> bool:
        """Whether the decimal mark of other columns settles what "1,234" or "1.234" means.

        Semicolons go with decimal commas, and commas with decimal points. The opposite may be a
        column of versions or codes among numbers of the other kind.
        """
        return self.decimal is not None or self.delimiter != {",": ",", ".": ";"}[common]

    def _common_decimal(self, columns: Sequence[Evidence]) -> str | None:
        """The decimal mark in the settings, or that of all columns which show one."""
        if self.decimal is not None:
            return self.decimal
        if self.thousands in (",", "."):
            return {",": ".", ".": ","}[self.thousands]
        shown = {_own_decimal(found) for found in columns} - {"", None}
        return shown.pop() if len(shown) == 1 else None

    def _resolve(self, found: Evidence, common: str | None) -> Notation | None:
        own = _own_decimal(found)
        decimal = self._undecided(found, common) if own == "" else own
        if decimal is None or self.contradicts(found):
            return None
        groups = self._thousands(found, decimal)
        return None if groups is None else Notation(decimal, groups)

    def _undecided(self, found: Evidence, common: str | None) -> str | None:
        """The decimal mark of a column that shows none; None: it is ambiguous."""
        maybe = found & (Evidence.MAYBE_POINT | Evidence.MAYBE_COMMA)
        if common is not None:
            return common if not maybe or self._trusts(common) else None
        if maybe == Evidence.MAYBE_POINT | Evidence.MAYBE_COMMA:
            return None
        if maybe == Evidence.MAYBE_COMMA:
            return "," if self.thousands == "" else None
        if maybe == Evidence.MAYBE_POINT:
            return self._default or None
        return self._default

    def _thousands(self, found: Evidence, decimal: str) -> str | None:
        """The thousands separator of a column, "" for none; None: it has several."""
        if self.thousands is not None:
            return self.thousands
        commas = Evidence.COMMA_GROUPS | Evidence.MAYBE_COMMA
        points = Evidence.POINT_GROUPS | Evidence.MAYBE_POINT
        spaces, quotes = Evidence.SPACE_GROUPS, Evidence.QUOTE_GROUPS
        marks = ((",", commas), (".", points), (" ", spaces), ("'", quotes))
        groups = [mark for mark, flag in marks if found & flag and mark != decimal]
        return None if len(groups) > 1 else groups[0] if groups else ""


def _own_decimal(found: Evidence) -> str | None:
    """The decimal mark that a column shows, "" if it shows none; None: it shows both."""
    point, comma = bool(found & _SAYS_POINT), bool(found & _SAYS_COMMA)
    if point and comma:
        return None
    return "." if point else "," if comma else ""
