"""``fedclust algorithms``: say when to use which algorithm, and how good each one is."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from .tools.advice import ADVICE, MEASURED, RUNS

if TYPE_CHECKING:
    from ..core import AnyAlgorithm

GUIDE = "docs/choosing-an-algorithm.md"


def algorithms(
    details: Annotated[
        bool, typer.Option("--details", help="Show what each algorithm does and sends.")
    ] = False,
) -> None:
    """Say which algorithm to use, and how good and how costly each one is."""
    from ..algorithms import ALGORITHMS, VERTICAL

    console = Console()
    if details:
        console.print(_described("Algorithms for rows split between owners", ALGORITHMS))
        console.print(_described("Algorithms for columns split between owners", VERTICAL))
        return
    console.print(
        'Stay with the default, algorithm = "lossless", unless a line below describes your case.',
        _advice(),
        f"Measured: the inertia, or the objective of fuzzy c-means, divided by the best known. "
        f"{RUNS} runs of each algorithm, with its own default start. 1.000 is the best.",
        _measured({**ALGORITHMS, **VERTICAL}),
        f"The results on each data set are in {GUIDE}. What an algorithm does and sends: "
        "fedclust algorithms --details",
        sep="\n",
        highlight=False,
    )


def _advice() -> Table:
    table = Table("your case", "use", box=SIMPLE_HEAD)
    for line in ADVICE:
        table.add_row(line.case, line.use, style="bold" if line is ADVICE[0] else "")
    return table


def _measured(registry: Mapping[str, type["AnyAlgorithm"]]) -> Table:
    table = Table("algorithm", box=SIMPLE_HEAD)
    for heading in ("mean", "deviation", "worst", "rounds", "bytes per client"):
        table.add_column(heading, justify="right")
    for soft in (False, True):
        for key, kind in registry.items():
            if kind.traits.soft == soft:
                table.add_row(key, *_cells(key))
        table.add_section()
    return table


def _cells(key: str) -> Iterator[str]:
    """The measured values of an algorithm; those of other packages have none."""
    found = MEASURED.get(key)
    if found is None:
        yield "not measured"
        return
    yield from (f"{value:.3f}" for value in (found.mean, found.deviation, found.worst))
    yield from (f"{found.rounds:,}", f"{found.sent:,}")


def _described(title: str, registry: Mapping[str, type["AnyAlgorithm"]]) -> Table:
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
