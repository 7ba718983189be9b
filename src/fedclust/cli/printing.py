"""Print text that may come from files or clients: control characters are shown, not obeyed."""

from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

HASH_DIGITS = 16  # of a study's hash, in tables


def printable(text: str) -> str:
    """The text with control characters as escapes: a column name must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def cell(value: Any) -> str:
    """A cell of a table, without markup or control characters."""
    return escape(printable(str(value)))


def say(text: str, *, err: bool = False) -> None:
    """Print one line."""
    typer.echo(printable(text), err=err)


def show(console: Console, text: str, style: str | None = None) -> None:
    """Print lines in a style."""
    for line in text.splitlines() or [""]:
        console.print(printable(line), style=style, markup=False, highlight=False, soft_wrap=True)
