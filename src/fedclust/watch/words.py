"""Words of the page."""

from collections.abc import Sequence

from ..report.amounts import data_size as data_size
from ..report.amounts import several as several

_NAMED = 3


def some(names: Sequence[str]) -> str:
    """A few names and the number of the others.

    >>> some(["Bern"]), some(["Bern", "Basel"]), some(["a", "b", "c", "d", "e"])
    ('Bern', 'Bern and Basel', 'a, b, c and 2 others')
    """
    if len(names) > _NAMED + 1:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} others"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def duration(seconds: float) -> str:
    """A duration, as exact as an estimate deserves.

    >>> duration(3.2), duration(95), duration(4000)
    ('3 s', '2 min', '1 h 7 min')
    """
    if seconds < 60:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def sentence(text: str) -> str:
    """The text with a capital and a full stop.

    >>> sentence("the disk is full")
    'The disk is full.'
    """
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
