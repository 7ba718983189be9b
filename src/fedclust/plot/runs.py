"""How a run went: the evidence for its number of clusters, its rounds, and what clients sent."""

from pathlib import Path
from typing import Any, Self

from ..core import ConfigError
from ..report import read_run
from ..report.amounts import size_unit
from ..report.figures import deciding, known_scores, threshold
from ..report.words import index_name, moved, stillness_words
from ..results import ChoiceRecord
from ._base import ACCENT, PHASES, SOFT, STYLE, WARN, Display, pyplot


class EvidenceDisplay:
    """The evidence for the number of clusters: the indices that decide, and their least values.

    Parameters
    ----------
    choice : ChoiceRecord
        The evidence, such as ``read_run(folder).choice``.

    Attributes
    ----------
    axes_, figure_ : array of Axes, Figure
        Where the pictures are, after `plot`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fedclust import run_study
    >>> from fedclust.plot import EvidenceDisplay
    >>> rng = np.random.default_rng(0)
    >>> tables = {
    ...     name: {"age": rng.normal([40, 70] * 60, 4.0), "dose": rng.normal([9, 2] * 60, 1.0)}
    ...     for name in ("north", "south")
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run_study(tables, f"{folder}/run", clustering={"k_range": [2, 4]})
    ...     display = EvidenceDisplay.from_run(done.folder)
    >>> len(display.axes_)
    2
    """

    def __init__(self, choice: ChoiceRecord) -> None:
        self.choice = choice

    @classmethod
    def from_run(cls, folder: str | Path, *, axes: Any = None) -> Self:
        """Draw from the folder of a run.

        Parameters
        ----------
        folder : path
            Of a run that chose its number of clusters.
        axes : array of Axes, optional
            Axes to draw into, one for each index that decides; a new figure if None.

        Returns
        -------
        display
        """
        choice = read_run(Path(folder)).choice
        if choice is None:
            raise ConfigError(
                f"{folder}: the number of clusters was given, so there is no evidence for it; run "
                'with n_clusters = "auto"'
            )
        return cls(choice).plot(axes)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, clients: Any = None, axes: Any = None
    ) -> Self:
        """Draw from an estimator that was fitted with ``n_clusters="auto"``.

        Parameters
        ----------
        estimator : FederatedKMeans or FederatedFuzzyCMeans
        X, clients : ignored
            The evidence is in the estimator.
        axes : array of Axes, optional
            As in `from_run`.

        Returns
        -------
        display
        """
        choice = getattr(estimator, "choice_", None)
        if choice is None:
            raise ConfigError(
                "the number of clusters was given, so there is no evidence for it; fit with "
                "n_clusters='auto'"
            )
        return cls(choice if isinstance(choice, ChoiceRecord) else choice.summarize()).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw a picture for each index that decides.

        Parameters
        ----------
        axes : array of Axes, optional
            As in `from_run`.

        Returns
        -------
        display
        """
        indices = deciding(self.choice)
        plt = pyplot()
        with plt.rc_context(STYLE):
            if axes is None:
                size = (3.4 * len(indices), 2.8)
                _, axes = plt.subplots(
                    1, len(indices), figsize=size, layout="constrained", squeeze=False
                )
                axes = axes[0]
            self.axes_, self.figure_ = axes, axes[0].figure
            for ax, index in zip(axes, indices, strict=True):
                self._draw(ax, index)
        return self

    def _draw(self, ax: Any, index: str) -> None:
        known = known_scores(self.choice, index)
        ax.axvline(self.choice.recommended, color=ACCENT, linewidth=1.5)
        least = threshold(self.choice, index)
        if least is not None:
            ax.axhline(least, color=WARN, linestyle="--", linewidth=1.2)
            ax.annotate(
                f"at least {least:.2f}",
                (1, least),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                color=WARN,
                fontsize=8.5,
            )
        ks = [k for k, _ in known]
        ax.plot(ks, [value for _, value in known], color=SOFT, marker="o", markersize=4)
        ax.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        ax.set_title(index_name(index))
        ax.set_xlabel("clusters")
        ax.grid(axis="y")


class ConvergenceDisplay(Display):
    """How far the centres moved in each round, on a logarithmic scale.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedFuzzyCMeans
    >>> from fedclust.plot import ConvergenceDisplay
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = FederatedFuzzyCMeans(2, random_state=0).fit([rows[::2], rows[1::2]])
    >>> display = ConvergenceDisplay.from_estimator(model, [rows[::2], rows[1::2]])
    >>> display.ax_.get_yscale()
    'log'
    """

    def _draw(self, ax: Any) -> None:
        known = [(one.round + 1, one.shift) for one in self.run.history if one.shift]
        if not known:
            words = stillness_words(self.run)
            ax.text(0.5, 0.5, words, ha="center", transform=ax.transAxes, color=SOFT)
            ax.set_axis_off()
            return
        marker = "o" if len(known) <= 40 else ""
        ax.plot(*zip(*known, strict=True), color=ACCENT, marker=marker, markersize=4)
        ax.set_yscale("log")
        ax.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        ax.set_xlabel("round")
        ax.set_ylabel(f"shift of the {moved(self.run)}")
        ax.grid(axis="y")


class DisclosureDisplay(Display):
    """What left each client: bytes by phase of the run.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedKMeans
    >>> from fedclust.plot import DisclosureDisplay
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> tables = {"north": rows[:120], "south": rows[120:]}
    >>> model = FederatedKMeans(2, random_state=0).fit(tables)
    >>> display = DisclosureDisplay.from_estimator(model, tables)
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['north', 'south']
    """

    def _size(self) -> tuple[float, float]:
        return 7.4, 1.5 + 0.3 * len(self.run.profile.clients)

    def _draw(self, ax: Any) -> None:
        clients = [client.name for client in self.run.profile.clients]
        phases = self.run.profile.phases
        totals = [sum(phase.bytes_up.get(c, 0) for phase in phases) for c in clients]
        divisor, unit = size_unit(max([*totals, 1]))
        left = [0.0] * len(clients)
        for place, phase in enumerate(phases):
            width = [phase.bytes_up.get(client, 0) / divisor for client in clients]
            own = PHASES[place % len(PHASES)]
            ax.barh(clients, width, left=left, color=own, label=phase.name, height=0.65)
            left = [a + b for a, b in zip(left, width, strict=True)]
        ax.invert_yaxis()
        ax.set_xlabel(f"{unit} sent")
        ax.grid(axis="x")
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
