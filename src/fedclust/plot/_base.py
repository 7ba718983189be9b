"""What all displays share: where their numbers come from, axes, and the look of the report."""

from pathlib import Path
from typing import Any, Self

from ..core import ConfigError
from ..report import RunFiles, read_run
from ..study.describe_fit import describe_fit

INK, SOFT, LINE, ACCENT, WARN = "#1a2230", "#566173", "#dde2e9", "#1f5f99", "#8a4b00"
LOW, MIDDLE, HIGH = "#57a99d", "#ffffff", "#d3a056"
PHASES = (
    "#c3d4e6",
    "#93b3d2",
    "#6290bd",
    "#3a6ea3",
    "#234f7e",
    "#8d97a5",
    "#b7bec8",
    "#5d6775",
    "#2e343d",
)
STYLE = {
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "font.size": 9.5,
    "legend.frameon": False,
}


class Display:
    """Base class: a picture of a run.

    Attributes
    ----------
    run : RunFiles
        The results that are shown.
    ax_, figure_ : Axes, Figure
        Where the picture is, after `plot`.
    """

    def __init__(self, run: RunFiles) -> None:
        self.run = run

    @classmethod
    def from_run(cls, folder: str | Path, *, ax: Any = None) -> Self:
        """Draw from the folder of a run.

        Parameters
        ----------
        folder : path
            As ``fedclust run`` or `fedclust.run_study` wrote it.
        ax : Axes, optional
            Axes to draw into; a new figure if None.

        Returns
        -------
        display
        """
        return cls(read_run(Path(folder))).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, clients: Any = None, ax: Any = None) -> Self:
        """Draw from a fitted estimator over split rows, and the rows of its fit.

        Parameters
        ----------
        estimator : FederatedKMeans or FederatedFuzzyCMeans
        X, clients
            As in its `fit`.
        ax : Axes, optional
            Axes to draw into; a new figure if None.

        Returns
        -------
        display
        """
        return cls(describe_fit(estimator, X, clients=clients)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure if None.

        Returns
        -------
        display
        """
        plt = pyplot()
        with plt.rc_context(STYLE):
            if ax is None:
                _, ax = plt.subplots(figsize=self._size(), layout="constrained")
            self.ax_, self.figure_ = ax, ax.figure
            self._draw(ax)
        return self

    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return 6.4, 3.6

    def _draw(self, ax: Any) -> None:
        """Draw into the axes."""
        raise NotImplementedError


def pyplot() -> Any:
    """The drawing functions of Matplotlib."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ConfigError("pictures need matplotlib: pip install 'fedclust[plot]'") from None
    return pyplot
