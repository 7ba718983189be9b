"""``fedclust algorithms``: what there is to choose from."""

from rich.console import Console
from rich.table import Table

from ..algorithms import ALGORITHMS, make
from ..core import Summed


def algorithms() -> None:
    """List the algorithms: their keys, what they promise, and what they send."""
    table = Table(title="Algorithms over rows split between owners")
    table.add_column("key", no_wrap=True)
    for heading in ("finds", "rounds", "lossless", "messages", "what it is"):
        table.add_column(heading)
    for key, kind in ALGORITHMS.items():
        chosen = make(key, 2)
        table.add_row(
            key,
            "memberships" if kind.soft else "labels",
            "many" if hasattr(chosen, "max_rounds") else "one",
            "yes" if chosen.lossless else "",
            "sum" if issubclass(kind.up, Summed) else "stack",
            (kind.__doc__ or "").splitlines()[0],
        )
    Console().print(table)
