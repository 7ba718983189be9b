"""``fedclust demo vertical``: two teams, other columns, partly the same birds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from ..datasets import Dataset, load
from ..typing import FloatArray, IntArray
from .demo import HIGH, LOW

COLUMNS = {"north team": [0], "south team": [1, 2, 3]}
SHARE = {"north team": 0.95, "south team": 0.9}  # of all birds, each team has caught these


@dataclass(frozen=True, eq=False)
class Caught:
    """A team's table: rings in the order of catching, and its columns, scaled."""

    ring: list[str]
    bird: IntArray  # which bird it is: the team does not know this, the demo does
    X: FloatArray


@dataclass(frozen=True, eq=False)
class VerticalFindings:
    """What each team finds alone, what they find together, and what one table would give."""

    birds: Dataset
    teams: dict[str, Caught]
    model: Any
    together: IntArray  # labels of the shared birds
    shared: IntArray  # which birds they are
    alone: dict[str, IntArray]  # labels of the shared birds, by each team's columns alone
    pooled: IntArray  # scikit-learn's labels, from the same start, with all columns in one table
    gap: float  # largest difference of the centres' parts to scikit-learn's, scaled units


def demo(console: Console, out: Path, seed: int) -> None:
    """Align, cluster, compare, tell and draw."""
    found = study(seed)
    _print(console, found)
    try:
        from .picture import draw_vertical
    except ImportError:
        console.print("No picture: it needs matplotlib (pip install 'fedclust\\[plot]').")
        return
    draw_vertical(found, out)
    console.print(f"Picture: {out}")


def study(seed: int) -> VerticalFindings:
    """Two teams with other columns, other orders and partly other birds."""
    from sklearn.cluster import KMeans

    from ..estimators import VerticalKMeans

    birds = load("penguins")
    teams = {team: _caught(birds, team, seed) for team in COLUMNS}
    frames = {
        team: {"ring": t.ring, **dict(zip(_names(birds, team), t.X.T, strict=True))}
        for team, t in teams.items()
    }
    model = VerticalKMeans(3, random_state=seed).fit_frames(frames, "ring")
    rows = model.alignment_.rows
    parts = [teams[team].X[rows[team]] for team in COLUMNS]
    X, start = np.hstack(parts), np.asarray(vars(model.algorithm_)["init"])
    pooled = KMeans(3, init=X[start], n_init=1, tol=0.0).fit(X)
    centers = np.hstack([model.centers_of(team) for team in COLUMNS])
    alone = {
        team: VerticalKMeans(3, random_state=seed).fit(part).labels_
        for team, part in zip(COLUMNS, parts, strict=True)
    }
    return VerticalFindings(
        birds,
        teams,
        model,
        model.labels_,
        teams["north team"].bird[rows["north team"]],
        alone,
        pooled.labels_,
        float(np.abs(centers - pooled.cluster_centers_).max()),
    )


def _names(birds: Dataset, team: str) -> list[str]:
    return [birds.feature_names[c] for c in COLUMNS[team]]


def _caught(birds: Dataset, team: str, seed: int) -> Caught:
    rng = np.random.default_rng([seed, list(COLUMNS).index(team)])
    bird = rng.permutation(len(birds.X))[: round(SHARE[team] * len(birds.X))]
    scaled = (birds.X - LOW) / (HIGH - LOW)
    ring = [f"P{b:04d}" if team == "north team" else f"P{b:04d} " for b in bird]  # as people type
    return Caught(ring, bird, scaled[bird][:, COLUMNS[team]])


def _print(console: Console, found: VerticalFindings) -> None:
    from ..metrics import majority_accuracy

    species = np.asarray(found.birds.y)[found.shared]
    table = Table(title=f"What each team finds, judged on the {len(species)} birds both have")
    for heading, justify in (
        ("who", "left"),
        ("columns", "left"),
        ("its birds", "right"),
        ("told apart", "right"),
        ("left the team", "right"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    names = {t: ", ".join(_plain(found, c) for c in COLUMNS[t]) for t in COLUMNS}
    for team, caught in found.teams.items():
        table.add_row(
            f"{team} alone",
            names[team],
            str(len(caught.ring)),
            f"{majority_accuracy(species, found.alone[team]):.0%}",
            "nothing",
        )
    table.add_section()
    sent = max(found.model.bytes_sent_.values())
    table.add_row(
        "[bold]both, federated[/bold]",
        "all four, in no one's hands",
        str(len(species)),
        f"[bold]{majority_accuracy(species, found.together):.0%}[/bold]",
        f"{sent:,} bytes each",
    )
    console.print(table)
    _print_proof(console, found)


def _print_proof(console: Console, found: VerticalFindings) -> None:
    for team, line in found.model.alignment_.report().items():
        console.print(f"To the {team}: {line}; the others do not learn which the rest are.")
    same = (found.together == found.pooled).all()
    console.print(
        "Against scikit-learn's KMeans with all columns in one table, from the same records: "
        f"centres differ by at most [bold]{found.gap:.1e}[/bold] of the features' range, labels "
        f"are {'[bold]identical[/bold]' if same else '[red]not identical[/red]'}. "
        f"{found.model.n_rounds_} rounds."
    )
    console.print(Panel(found.model.trust_, title="What the server learns"))


def _plain(found: VerticalFindings, column: int) -> str:
    return found.birds.feature_names[column].rsplit("_", 1)[0].replace("_", " ")
