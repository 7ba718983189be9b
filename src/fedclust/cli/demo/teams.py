"""The demo over split columns: two teams measured different things on partly the same birds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.table import Column, Table
from sklearn.cluster import KMeans

from ...datasets import Dataset, load
from ...estimators import VerticalKMeans
from ...metrics import majority_accuracy
from ...typing import IntArray
from .penguins import COLOURS, HIGH, LOW, STAR, describe_agreement, scale, style

COLUMNS = {"north team": [0], "south team": [1, 2, 3]}
SHARE = {"north team": 0.95, "south team": 0.9}  # of all birds, the share each team has caught


@dataclass(frozen=True, eq=False)
class Teams:
    """Results of each team alone, of both together, and of one table with all columns."""

    birds: Dataset
    model: VerticalKMeans
    shared: IntArray  # the birds that both teams have caught
    alone: dict[str, IntArray]  # labels of the shared birds, by each team's columns alone
    pooled: IntArray  # scikit-learn's labels, from the same start, with all columns in one table
    difference: float  # largest difference from scikit-learn's centres, scaled

    def show(self, console: Console) -> None:
        """Print the accuracy of each team and of both, who takes part, and what is disclosed."""
        species, model = np.asarray(self.birds.y)[self.shared], self.model
        right = [Column(name, justify="right") for name in ("correct species", "sent")]
        title = f"Results of each team, evaluated on the {len(species)} birds that both have"
        table = Table("who", "columns", *right, title=title)
        for team, labels in self.alone.items():
            correct = majority_accuracy(species, labels)
            table.add_row(f"{team} alone", self._columns(team), f"{correct:.0%}", "nothing")
        correct = majority_accuracy(species, model.labels_)
        sent = f"{max(model.bytes_sent_.values()):,} bytes each"
        table.add_row("both, federated", "all four, each with its owner", f"{correct:.0%}", sent)
        console.print(table)
        for team, line in model.alignment_.report().items():
            console.print(f"{team}: {line}. The other team cannot tell which rows did not match.")
        same = bool((model.labels_ == self.pooled).all())
        console.print(describe_agreement(self.difference, same), f"Rounds: {model.n_rounds_}.")
        console.print(Panel(model.trust_, title="What the server learns"))

    def _columns(self, team: str) -> str:
        names = [self.birds.feature_names[column] for column in COLUMNS[team]]
        return ", ".join(name.rsplit("_", 1)[0].replace("_", " ") for name in names)

    def draw(self, figure: Any) -> None:
        """Draw what each team sees in its own columns, coloured by the clusters of both."""
        for place, team in enumerate(COLUMNS):
            axes = figure.add_subplot(1, 2, place + 1)
            self._draw_team(axes, team)
            style(axes, f"The {team} has {self._columns(team)}")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        figure.suptitle("Penguins measured by two teams: clusters of all four columns")

    def _draw_team(self, axes: Any, team: str) -> None:
        """Draw a team's first two columns; with one column, birds are spread at random."""
        columns = COLUMNS[team][:2]
        X = self.birds.X[self.shared][:, columns]
        centers = self.model.centers_of(team)[:, :2] * (HIGH - LOW)[columns] + LOW[columns]
        names = [self.birds.feature_names[c].replace("_", " ") for c in columns]
        if len(columns) == 1:
            X = np.column_stack([X, np.random.default_rng(0).random(len(X))])
            centers = np.column_stack([centers, np.arange(1, 4) / 4])
            names.append("")
            axes.set_yticks([])
        for c, colour in enumerate(COLOURS):
            mine = X[self.model.labels_ == c]
            axes.scatter(*mine.T, s=24, c=colour, alpha=0.6, lw=0, label=f"cluster {c}")
        axes.scatter(*centers.T, c=COLOURS, **STAR)
        axes.set(xlabel=names[0], ylabel=names[1])


def run_teams(seed: int) -> Teams:
    """Cluster the birds of both teams together, by each team alone, and in one table."""
    birds = load("penguins")
    tables = {team: _catch(birds, team, seed) for team in COLUMNS}
    model = VerticalKMeans(3, random_state=seed).fit_frames(tables, "ring")
    rings = tables["north team"]["ring"]
    shared = np.array([int(rings[row][1:]) for row in model.alignment_.rows["north team"]])
    X = scale(birds.X[shared])
    start = np.asarray(model.algorithm_.parameter("init"))
    pooled = KMeans(3, init=X[start], n_init=1, tol=0.0).fit(X)
    centers = np.hstack([model.centers_of(team) for team in COLUMNS])
    alone = {
        team: VerticalKMeans(3, random_state=seed).fit(X[:, columns]).labels_
        for team, columns in COLUMNS.items()
    }
    difference = float(np.abs(centers - pooled.cluster_centers_).max())
    return Teams(birds, model, shared, alone, pooled.labels_, difference)


def _catch(birds: Dataset, team: str, seed: int) -> dict[str, Any]:
    """A team's table: ring numbers in the order of catching, and its columns."""
    rng = np.random.default_rng([seed, list(COLUMNS).index(team)])
    caught = rng.permutation(len(birds.X))[: round(SHARE[team] * len(birds.X))]
    blank = "" if team == "north team" else " "  # one team adds a space after each number
    columns = {birds.feature_names[c]: scale(birds.X[caught])[:, c] for c in COLUMNS[team]}
    return {"ring": [f"P{bird:04d}{blank}" for bird in caught], **columns}
