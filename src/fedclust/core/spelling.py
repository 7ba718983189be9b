"""Suggestions for misspelled names."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The closest known name, as a suffix for an error message; empty if none is close."""
    close = get_close_matches(str(word).lower().replace("_", "-"), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
