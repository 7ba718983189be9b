"""Shared by both demos: scaling, colours, and the comparison with pooled data."""

from typing import Any

import numpy as np

from ...typing import FloatArray

# Bounds from field guides, not from these birds: scaling with them discloses nothing.
LOW = np.array([30.0, 13.0, 170.0, 2500.0])
HIGH = np.array([60.0, 22.0, 235.0, 6500.0])
COLOURS = ("#0072B2", "#D55E00", "#009E73")  # distinct for colour-blind readers, too
STAR = {"marker": "*", "s": 400, "ec": "black", "lw": 1.4, "zorder": 3}  # a centre


def scale(X: FloatArray) -> FloatArray:
    """Birds as shares of the range of each feature."""
    shares: FloatArray = (X - LOW) / (HIGH - LOW)
    return shares


def unscale(shares: FloatArray) -> FloatArray:
    """Centres in the original units."""
    X: FloatArray = shares * (HIGH - LOW) + LOW
    return X


def describe_agreement(difference: float, same_labels: bool) -> str:
    """Compare the federation with scikit-learn on one table with all the data."""
    labels = "[bold]identical[/bold]" if same_labels else "[red]not identical[/red]"
    return (
        "Compared with scikit-learn's KMeans on one table with all the data and the same initial "
        f"centres: centres differ by at most [bold]{difference:.1e}[/bold] of the features' range, "
        f"labels are {labels}."
    )


def style(axes: Any, title: str) -> None:
    """Light axes with a title."""
    axes.set_title(title, fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
