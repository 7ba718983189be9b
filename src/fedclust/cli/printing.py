"""Print text that may come from files: control characters are shown, not obeyed."""

import typer


def printable(text: str) -> str:
    """The text with control characters as escapes: a column name must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def say(text: str) -> None:
    """Print one line."""
    typer.echo(printable(text))
