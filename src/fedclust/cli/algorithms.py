"""``fedclust algorithms``: list the algorithms, and say when to use which."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from ..core import AnyAlgorithm

GUIDE = "docs/choosing-an-algorithm.md"


def algorithms() -> None:
    """List the algorithms: what they do, when to use them, their rounds and messages."""
    from ..algorithms import ALGORITHMS, VERTICAL

    console = Console()
    console.print(_table("Algorithms for rows split between owners", ALGORITHMS))
    console.print(_table("Algorithms for columns split between owners", VERTICAL))
    console.print(f"How good their clusters are, and what they cost, is in {GUIDE}.")


def _table(title: str, registry: Mapping[str, type["AnyAlgorithm"]]) -> Table:
    from ..algorithms import make
    from ..algorithms.registry import summary
    from ..core import Summed

    table = Table(title=title, show_lines=True)
    table.add_column("key", no_wrap=True)
    for heading in ("result", "rounds", "lossless", "messages", "what it does, and when to use it"):
        table.add_column(heading)
    for key, kind in registry.items():
        chosen = make(key, 2)
        table.add_row(
            key,
            "memberships" if kind.traits.soft else "labels",
            "many" if hasattr(chosen, "max_rounds") else "one",
            "yes" if chosen.lossless else "",
            "sum" if issubclass(kind.up, Summed) else "stack",
            f"{summary(key)} {kind.use_for}".rstrip(),
        )
    return table
