"""``fedclust demo``: three islands, three species, and no island sees another's birds."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..algorithms import make
from ..channels import LocalChannel
from ..core import ConfigError, Data, Message, Plan, Request, Schema
from ..datasets import Dataset, load
from ..typing import FloatArray, IntArray

# Bounds anybody may know, from field guides, not from these birds: what is scaled by them
# tells nothing about a bird.
LOW = np.array([30.0, 13.0, 170.0, 2500.0])
HIGH = np.array([60.0, 22.0, 235.0, 6500.0])


@dataclass(frozen=True, eq=False)
class Findings:
    """What each island finds alone, and what they find together."""

    birds: Dataset
    alone: dict[str, FloatArray]  # centres by island, original units
    together: FloatArray  # (C, F) original units
    labels: IntArray  # (N,) of the federation
    pooled_gap: float  # largest difference to scikit-learn's centres on all birds, scaled units
    same_labels: bool
    rounds: int
    sent: dict[str, int]
    shown: int  # birds that could be read off a message


class Split(StrEnum):
    """What is split between the owners."""

    rows = "rows"
    vertical = "vertical"


def demo(
    split: Annotated[
        Split, typer.Argument(help="Owners have other birds (rows), or other columns (vertical).")
    ] = Split.rows,
    out: Annotated[Path, typer.Option(help="Where to draw the picture.")] = Path(
        "fedclust-demo.png"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random start.")] = 2,
) -> None:
    """Cluster penguins whose owners show each other nothing: three islands, or two teams."""
    if not out.parent.is_dir():
        raise ConfigError(f"--out: there is no folder {out.parent}")
    console = Console()
    if split is Split.vertical:
        from . import demo_vertical

        demo_vertical.demo(console, out, seed)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("waking up (the first run compiles)")
        findings = study(seed, lambda text: progress.update(task, description=text))
    _print(console, findings)
    console.print(_draw(findings, out))


def study(seed: int, say: Any) -> Findings:
    """Run the demo's job: each island alone, all together, and the pooled run to compare."""
    from sklearn.cluster import KMeans

    from ..chain import cluster
    from ..estimators import FederatedKMeans
    from ..kernels import nearest

    birds = load("penguins")
    scaled = _scaled(birds.X)
    owner = np.array(birds.client_names)[birds.client]
    alone = {}
    for island in birds.client_names:
        say(f"{island} alone")
        mine = FederatedKMeans(3, random_state=seed).fit(scaled[owner == island])
        alone[island] = mine.cluster_centers_ * (HIGH - LOW) + LOW
    say("all three islands, by messages")
    channel = Watched({island: Data.of(scaled[owner == island]) for island in birds.client_names})
    found = cluster(make("llf-cm", 3), channel, Schema(scaled.shape[1]), seed=seed)
    labels = nearest(scaled, found.centers)[0]
    say("scikit-learn on all birds in one table, from the same start")
    start = vars(found.algorithm)["init"]
    pooled = KMeans(3, init=start, n_init=1, tol=0.0).fit(scaled)
    return Findings(
        birds,
        alone,
        found.centers * (HIGH - LOW) + LOW,
        labels,
        float(np.abs(found.centers - pooled.cluster_centers_).max()),
        bool((labels == pooled.labels_).all()),
        found.run.n_rounds,
        dict(found.sent),
        channel.shown,
    )


class Watched(LocalChannel):
    """A channel that looks into every message for birds of the island that sends it."""

    def __init__(self, data: dict[str, Data]) -> None:
        super().__init__(data)
        self._birds, self.shown = data, 0

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        """The answers, each looked into."""
        for island, message in super().ask(plan, request):
            self.shown += _birds_in(message, self._birds[island].X)
            yield island, message


def _birds_in(message: Message, birds: FloatArray) -> int:
    """How many vectors of a message are a bird: as they are, or divided by the counts beside."""
    arrays = list(message.arrays().values())
    wide, counts = ([a for a in arrays if a.ndim == n] for n in (2, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        wide += [a / n[:, None] for a in wide for n in counts if len(a) == len(n)]
    vectors = np.vstack([np.empty((0, birds.shape[1])), *wide])
    same = np.isclose(vectors[:, None], birds, rtol=1e-9)
    return int(same.all(axis=2).any(axis=1).sum())


def _print(console: Console, found: Findings) -> None:
    from ..kernels import nearest
    from ..metrics import majority_accuracy

    birds = found.birds
    species, owner = np.asarray(birds.y), np.asarray(birds.client)
    table = Table(title=f"What each island finds, judged on all {len(birds.X)} birds")
    table.add_column("who")
    table.add_column("birds", justify="right")
    table.add_column("species there")
    table.add_column("told apart", justify="right")
    table.add_column("left the island", justify="right")
    for code, island in enumerate(birds.client_names):
        labels, _ = nearest(_scaled(birds.X), _scaled(found.alone[island]))
        table.add_row(
            f"{island} alone",
            str((owner == code).sum()),
            ", ".join(birds.target_names[s] for s in np.unique(species[owner == code])),
            f"{majority_accuracy(species, labels):.0%}",
            "nothing",
        )
    table.add_section()
    table.add_row(
        "[bold]all three, federated[/bold]",
        str(len(birds.X)),
        ", ".join(birds.target_names),
        f"[bold]{majority_accuracy(species, found.labels):.0%}[/bold]",
        f"{max(found.sent.values()):,} bytes each",
    )
    console.print(table)
    _print_centres(console, found)
    _print_proof(console, found)


def _print_proof(console: Console, found: Findings) -> None:
    birds, owner = found.birds, np.asarray(found.birds.client)
    console.print(
        f"Against scikit-learn's KMeans on all birds in one table, from the same start: centres "
        f"differ by at most [bold]{found.pooled_gap:.1e}[/bold] of the features' range, labels are "
        f"{'[bold]identical[/bold]' if found.same_labels else '[red]not identical[/red]'}."
    )
    raw = {i: birds.X[owner == c].nbytes for c, i in enumerate(birds.client_names)}
    left = ", ".join(f"{i} {found.sent[i]:,} of {raw[i]:,}" for i in birds.client_names)
    console.print(
        f"What left each island, seeding, {found.rounds} rounds and score together: {left} bytes "
        "that its birds would have taken; means, counts and sums, "
        + (
            "and no bird among them: every message was searched."
            if found.shown == 0
            else f"and {found.shown} times a bird that was alone in its cluster, which is its own "
            "mean: privacy='paper' withholds those, at the price of the exact result."
        )
    )


def _print_centres(console: Console, found: Findings) -> None:
    table = Table(title="The clusters of the federation")
    table.add_column("cluster", justify="right")
    table.add_column("birds", justify="right")
    table.add_column("mostly")
    for name in found.birds.feature_names:
        table.add_column(name.replace("_", " "), justify="right")
    for c, centre in enumerate(found.together):
        mine = np.asarray(found.birds.y)[found.labels == c]
        species = found.birds.target_names[np.bincount(mine).argmax()]
        table.add_row(str(c), str(len(mine)), species, *(f"{v:,.1f}" for v in centre))
    console.print(table)


def _scaled(X: FloatArray) -> FloatArray:
    shares: FloatArray = (X - LOW) / (HIGH - LOW)
    return shares


def _draw(found: Findings, out: Path) -> str:
    try:
        from .picture import draw
    except ImportError:
        return "No picture: it needs matplotlib (pip install 'fedclust\\[plot]')."
    draw(found, out)
    return f"Picture: {out}"
