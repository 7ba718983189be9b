"""The demo over split rows: three islands with different penguins."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.table import Column, Table
from sklearn.cluster import KMeans

from ...datasets import Dataset, load
from ...estimators import FederatedKMeans
from ...metrics import majority_accuracy
from ...typing import FloatArray
from .penguins import COLOURS, STAR, describe_agreement, scale, style, unscale


@dataclass(frozen=True, eq=False)
class Islands:
    """Results of each island alone, of the federation, and of one table with all rows."""

    birds: Dataset
    alone: dict[str, FederatedKMeans]
    together: FederatedKMeans
    pooled: KMeans

    def accuracy(self, model: FederatedKMeans) -> float:
        """Share of all birds that are in a cluster of mostly their own species."""
        return majority_accuracy(np.asarray(self.birds.y), model.predict(scale(self.birds.X)))

    def show(self, console: Console) -> None:
        """Print the accuracy of each island and of all, the clusters, and what is disclosed."""
        birds, model = self.birds, self.together
        right = [Column(name, justify="right") for name in ("birds", "correct species", "sent")]
        table = Table(
            "who", *right, title=f"Results of each island, evaluated on all {len(birds.X)} birds"
        )
        for island, mine in self.alone.items():
            correct, count = f"{self.accuracy(mine):.0%}", str(len(mine.labels_))
            table.add_row(f"{island} alone", count, correct, "nothing")
        sent = f"{max(model.bytes_sent_.values()):,} bytes each"
        table.add_row("all, federated", str(len(birds.X)), f"{self.accuracy(model):.0%}", sent)
        console.print(table)
        names = [Column(n.replace("_", " "), justify="right") for n in birds.feature_names]
        table = Table("cluster", "birds", "mostly", *names, title="Clusters of the federation")
        for c, center in enumerate(unscale(model.cluster_centers_)):
            species = np.asarray(birds.y)[model.labels_ == c]
            mostly = birds.target_names[np.bincount(species).argmax()]
            table.add_row(str(c), str(len(species)), mostly, *(f"{v:,.1f}" for v in center))
        console.print(table)
        rounds = f"Rounds: {model.n_start_rounds_} for the initial centres, {model.n_rounds_} more."
        console.print(describe_agreement(*self.against_pooled()), rounds)
        text = f"{model.guarantee_.words} Other tiers guarantee more, such as privacy='secure'."
        console.print(Panel(text, title="What the server learns"))

    def against_pooled(self) -> tuple[float, bool]:
        """The largest difference of centres, scaled, and whether the labels are identical."""
        difference = np.abs(self.together.cluster_centers_ - self.pooled.cluster_centers_).max()
        return float(difference), bool((self.together.labels_ == self.pooled.labels_).all())

    def draw(self, figure: Any) -> None:
        """Draw three small panels, one per island, and a large one for the federation."""
        birds, grid = self.birds, figure.add_gridspec(3, 3)
        main = figure.add_subplot(grid[:, 1:])
        for code, (island, mine) in enumerate(self.alone.items()):
            axes = figure.add_subplot(grid[code, 0], sharex=main, sharey=main)
            axes.scatter(*_plane(birds.X[birds.client == code]), s=14, c="#555555", alpha=0.6, lw=0)
            centers = unscale(mine.cluster_centers_)
            axes.scatter(*_plane(centers), s=150, c="white", ec="black", marker="X")
            style(axes, f"{island} alone")
        for c, colour in enumerate(COLOURS):
            for s, (species, marker) in enumerate(zip(birds.target_names, "os^", strict=True)):
                chosen = (self.together.labels_ == c) & (birds.y == s)
                label = f"{species} in cluster {c}: {chosen.sum()}" if chosen.any() else None
                dots = {"c": colour, "marker": marker, "label": label}
                main.scatter(*_plane(birds.X[chosen]), s=34, alpha=0.7, lw=0, **dots)
        main.scatter(*_plane(unscale(self.together.cluster_centers_)), c=COLOURS, **STAR)
        main.set(xlabel="flipper length (mm)", ylabel="bill length (mm)")
        main.legend(loc="lower right", frameon=False)
        style(main, "All three, federated: stars are the centres")
        figure.suptitle("Penguins of three islands: each alone, and together")


def _plane(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Flipper length across, bill length up."""
    return X[:, 2], X[:, 0]


def run_islands(seed: int) -> Islands:
    """Cluster each island alone, all together, and all birds in one table to compare."""
    birds = load("penguins")
    X, island = scale(birds.X), np.array(birds.client_names)[birds.client]
    alone = {
        name: FederatedKMeans(3, random_state=seed).fit(X[island == name])
        for name in birds.client_names
    }
    together = FederatedKMeans(3, random_state=seed).fit(X, clients=island)
    start = together.algorithm_.parameter("init")
    pooled = KMeans(3, init=start, n_init=1, tol=0.0).fit(X)
    return Islands(birds, alone, together, pooled)
