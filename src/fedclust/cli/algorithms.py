"""``fedclust algorithms``: list the algorithms."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from ..algorithms import ALGORITHMS, VERTICAL, make
from ..core import AnyAlgorithm, Summed


def algorithms() -> None:
    """List the algorithms, with their results, number of rounds, and kind of messages."""
    console = Console()
    console.print(_table("Algorithms for rows split between owners", ALGORITHMS))
    console.print(_table("Algorithms for columns split between owners", VERTICAL))


def _table(title: str, registry: Mapping[str, type[AnyAlgorithm]]) -> Table:
    table = Table(title=title)
    table.add_column("key", no_wrap=True)
    for heading in ("result", "rounds", "lossless", "messages", "description"):
        table.add_column(heading)
    for key, kind in registry.items():
        chosen = make(key, 2)
        table.add_row(
            key,
            "memberships" if kind.traits.soft else "labels",
            "many" if hasattr(chosen, "max_rounds") else "one",
            "yes" if chosen.lossless else "",
            "sum" if issubclass(kind.up, Summed) else "stack",
            (kind.__doc__ or "").splitlines()[0],
        )
    return table
