"""``fedclust algorithms``: what there is to choose from."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from ..algorithms import ALGORITHMS, VERTICAL, make
from ..core import AnyAlgorithm, Summed


def algorithms() -> None:
    """List the algorithms: their keys, what they promise, and what they send."""
    console = Console()
    console.print(_table("Algorithms over rows split between owners", ALGORITHMS))
    console.print(_table("Algorithms over columns split between owners", VERTICAL))


def _table(title: str, registry: Mapping[str, type[AnyAlgorithm]]) -> Table:
    table = Table(title=title)
    table.add_column("key", no_wrap=True)
    for heading in ("finds", "rounds", "lossless", "messages", "what it is"):
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
