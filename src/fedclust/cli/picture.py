"""The demo's picture: what each island sees alone, and what they see together."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np

matplotlib.use("Agg")  # a file is drawn; no screen is needed
from matplotlib.figure import Figure

from .demo import HIGH, LOW
from .demo_vertical import COLUMNS

if TYPE_CHECKING:
    from .demo import Findings
    from .demo_vertical import VerticalFindings

COLOURS = ("#0072B2", "#D55E00", "#009E73")  # told apart by colour-blind readers too
ACROSS, UP = 2, 0  # flipper length, bill length


def draw(found: "Findings", out: Path) -> None:
    """Three small panels, one per island, and a large one for the federation."""
    figure = Figure(figsize=(12, 7.4), layout="constrained")
    grid = figure.add_gridspec(3, 3, width_ratios=(1, 1, 1))
    whole = figure.add_subplot(grid[:, 1:])
    for row, island in enumerate(found.birds.client_names):
        _island(figure.add_subplot(grid[row, 0]), found, row, island)
    _federation(whole, found)
    figure.suptitle(
        "Penguins of three islands: each alone, and together without showing a bird",
        fontsize=15,
        fontweight="bold",
    )
    figure.savefig(out, dpi=130)


def _island(axes: Any, found: "Findings", code: int, island: str) -> None:
    birds = found.birds
    here = birds.client == code
    axes.scatter(birds.X[here, ACROSS], birds.X[here, UP], s=14, c="#555555", alpha=0.6, lw=0)
    centres = found.alone[island]
    axes.scatter(
        centres[:, ACROSS], centres[:, UP], s=150, c="white", ec="black", marker="X", lw=1.4
    )
    species = [birds.target_names[s] for s in np.unique(np.asarray(birds.y)[here])]
    axes.set_title(
        f"{island} alone: {' and '.join(species)}, cut in three", fontsize=10, loc="left"
    )
    axes.set_ylabel("bill (mm)", fontsize=9)
    if code == len(birds.client_names) - 1:
        axes.set_xlabel("flipper (mm)", fontsize=9)
    _frame(axes, found)


def _federation(axes: Any, found: "Findings") -> None:
    birds = found.birds
    markers = ("o", "s", "^")
    for c in range(len(found.together)):
        for s, species in enumerate(birds.target_names):
            chosen = (found.labels == c) & (birds.y == s)
            axes.scatter(
                birds.X[chosen, ACROSS],
                birds.X[chosen, UP],
                s=34,
                c=COLOURS[c],
                marker=markers[s],
                alpha=0.7,
                lw=0,
                label=f"{species} in cluster {c}: {chosen.sum()}" if chosen.any() else None,
            )
        axes.scatter(
            found.together[c, ACROSS],
            found.together[c, UP],
            s=420,
            c=COLOURS[c],
            ec="black",
            marker="*",
            lw=1.4,
            zorder=3,
        )
    axes.set_title("All three, federated: stars are the centres that messages found", fontsize=12)
    axes.set_xlabel("flipper length (mm)")
    axes.set_ylabel("bill length (mm)")
    axes.legend(loc="lower right", frameon=False)
    _frame(axes, found)


def _frame(axes: Any, found: "Findings") -> None:
    axes.set_xlim(found.birds.X[:, ACROSS].min() - 3, found.birds.X[:, ACROSS].max() + 3)
    axes.set_ylim(found.birds.X[:, UP].min() - 2, found.birds.X[:, UP].max() + 2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def draw_vertical(found: "VerticalFindings", out: Path) -> None:
    """What each team sees in its own columns, coloured by the clusters of both."""
    figure = Figure(figsize=(12, 5.6), layout="constrained")
    for place, team in enumerate(COLUMNS):
        axes = figure.add_subplot(1, 2, place + 1)
        _team(axes, found, team)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle(
        "The same penguins, measured by two teams: clusters of all four columns, which nobody has",
        fontsize=14,
        fontweight="bold",
    )
    figure.savefig(out, dpi=130)


def _team(axes: Any, found: "VerticalFindings", team: str) -> None:
    """A team's first two columns; where it has one only, birds are spread upwards at random."""
    columns, names = COLUMNS[team][:2], found.birds.feature_names
    X, scale, low = found.birds.X[found.shared], (HIGH - LOW)[columns], LOW[columns]
    centers = found.model.centers_of(team)[:, : len(columns)] * scale + low
    height = np.random.default_rng(0).random(len(X))
    for c, colour in enumerate(COLOURS):
        mine = found.together == c
        up = X[mine, columns[1]] if len(columns) > 1 else height[mine]
        star = centers[c, 1] if len(columns) > 1 else (c + 1) / 4
        axes.scatter(X[mine, columns[0]], up, s=24, c=colour, alpha=0.6, lw=0, label=f"cluster {c}")
        axes.scatter(centers[c, 0], star, s=380, c=colour, ec="black", marker="*", lw=1.4, zorder=3)
    axes.set_xlabel(names[columns[0]].replace("_", " "))
    if len(columns) > 1:
        axes.set_ylabel(names[columns[1]].replace("_", " "))
    else:
        axes.set_yticks([])
    has = ", ".join(
        names[c].split("_mm")[0].split("_g")[0].replace("_", " ") for c in COLUMNS[team]
    )
    axes.set_title(f"The {team} has {has}", fontsize=11)
    axes.legend(loc="upper left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
