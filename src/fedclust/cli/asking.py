"""Ask the owner of a client's data whether a study may run."""

import select
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING

from rich.console import Console

from .printing import printable, show

if TYPE_CHECKING:
    from ..follow.decisions import Pending

QUESTION = "Approve this study? y (yes), n (no), s (skip, decide later): "


class Answer(Enum):
    """What an owner can answer."""

    YES = "yes"
    NO = "no"
    LATER = "skip"


def read_answer(line: str) -> Answer | None:
    """The answer in a line of input; None if it is none."""
    word = line.strip().casefold()
    if not word:
        return None
    return next((answer for answer in Answer if answer.value.startswith(word)), None)


def describe_pending(one: "Pending") -> Iterator[str]:
    """A study that waits, in words, with who has submitted it."""
    from ..follow.words import describe_study

    yield from describe_study(one.study)
    by = f" by {one.author}" if one.author else ""
    yield f"Submitted{by} to the clients {', '.join(one.members)}."


def show_pending(console: Console, one: "Pending") -> None:
    """Print a study that waits."""
    show(console, "")
    show_words(console, describe_pending(one))


def show_words(console: Console, words: Iterable[str]) -> None:
    """Print each sentence as one line: a name must not begin another."""
    for line in words:
        show(console, printable(line))


def ask(console: Console) -> Answer:
    """Ask until there is an answer; the end of the input means later."""
    while True:
        print_question(console)
        line = sys.stdin.readline()
        if not line:
            show(console, "")
            return Answer.LATER
        if answer := read_answer(line):
            return answer


def print_question(console: Console) -> None:
    """Print the question; the answer comes on the same line."""
    console.print(QUESTION, end="", markup=False, highlight=False, soft_wrap=True)
    console.file.flush()


def discard_input() -> None:
    """Forget what was typed before a question was shown."""
    try:
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    except (ImportError, OSError, ValueError):  # not a terminal
        return


def has_input() -> bool:
    """Whether a line of input waits."""
    return bool(select.select([sys.stdin], [], [], 0)[0])
