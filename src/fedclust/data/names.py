"""Names of columns that are nearly the same."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, product

from ..core import did_you_mean

_INVISIBLE = re.compile("[\ufeff\u00ad\u200b-\u200f\u2060]")
_DIFFERENCES: Mapping[str, Callable[[str], str]] = {  # what two names may differ by
    "blanks": lambda name: re.sub(r"\s+", "", name),
    "case": str.casefold,
    "punctuation": lambda name: re.sub(r"[-_.:/()\[\]]+", "", name),
    "the spelling of characters": lambda name: _INVISIBLE.sub(
        "", unicodedata.normalize("NFKC", name)
    ),
}
_SHORTEST = 5  # characters of a name in which one letter is a slip
_FORMS = [kinds for n in range(1, 5) for kinds in combinations(_DIFFERENCES, n)]


def difference(one: str, other: str) -> str:
    """What two names differ by, such as "blanks and case"; "" if they are really different."""
    for kinds in _FORMS:
        a, b = one, other
        for kind in kinds:
            a, b = _DIFFERENCES[kind](a), _DIFFERENCES[kind](b)
        if a and a == b:
            return " and ".join(kinds) if len(kinds) < 3 else ", ".join(kinds)
    return ""


def describe_near(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, and what it differs by; "" if none is close."""
    listed = list(known)
    for other in listed:
        if by := difference(name, other):
            return f"did you mean {other!r}? It differs by {by}"
    return did_you_mean(name, listed).removeprefix("; ")


def near_names(tables: Mapping[str, Iterable[str]]) -> list[str]:
    """Columns of several files that differ only in how their names are written."""
    found: dict[tuple[str, str], str] = {}
    listed = {place: list(names) for place, names in tables.items()}
    for (place, names), (other_place, others) in combinations(listed.items(), 2):
        both = set(names) & set(others)
        left, right = ([n for n in each if n not in both] for each in (names, others))
        for name, other in product(left, right):
            if by := difference(name, other) or ("one letter" if _one_slip(name, other) else ""):
                found.setdefault(
                    (name, other),
                    f"{name!r} in {place} and {other!r} in {other_place} differ by {by}",
                )
    return list(found.values())


def _one_slip(one: str, other: str) -> bool:
    """Whether one letter was left out, added or changed; not a digit, and not the first letter.

    Words whose first letters differ, such as height and weight, often are two words.
    """
    short, long = sorted((one, other), key=len)
    start = next(
        (i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short)
    )
    letters = short[start : start + 1] + long[start : start + 1]
    if len(short) < _SHORTEST or start == 0 or any(c.isdigit() for c in letters):
        return False
    return long[start + 1 :] == short[start + (len(long) == len(short)) :]
