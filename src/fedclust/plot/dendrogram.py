"""The hierarchy of the clusters: Ward's tree over a summary of all rows."""

from pathlib import Path
from typing import Any, Self

import numpy as np

from ..clustering.summary import Tree, ward_tree
from ..core import ConfigError
from ..report import read_run
from ..typing import FloatArray
from ._base import ACCENT, SOFT, STYLE, pyplot

_SHOWN = 30  # leaves; the rest of the tree is folded


def _linkage(tree: Tree) -> FloatArray:
    """The merges as SciPy's plot expects them: with the number of leaves below each."""
    n = len(tree.height) + 1
    leaves = [1] * n
    for left, right in zip(tree.left, tree.right, strict=True):
        leaves.append(leaves[left] + leaves[right])
    return np.column_stack([tree.left, tree.right, tree.height, leaves[n:]])


class DendrogramDisplay:
    """The upper part of Ward's tree, with the cut into the chosen number of clusters.

    Parameters
    ----------
    summary : DataSummary
        A summary of all rows, such as ``model.choice_.summary`` or `learn_summary` makes.
    n_clusters : int, optional
        Where the tree is cut; nowhere if None.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where the picture is, after `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedKMeans
    >>> from fedclust.plot import DendrogramDisplay
    >>> rows = np.random.default_rng(0).normal(np.tile([[2, 5], [8, 3]], (90, 1)), 0.4)
    >>> tables = {"north": rows[:60], "south": rows[60:120], "west": rows[120:]}
    >>> model = FederatedKMeans("auto", privacy="secure", bounds=(0, 10), random_state=0)
    >>> display = DendrogramDisplay.from_estimator(model.fit(tables))
    >>> display.ax_.get_ylabel()
    'height (Ward)'
    """

    def __init__(self, summary: Any, n_clusters: int | None = None) -> None:
        self.summary = summary
        self.n_clusters = n_clusters

    @classmethod
    def from_run(cls, folder: str | Path, *, ax: Any = None) -> Self:
        """Draw from the folder of a run that learned a summary of all rows.

        Parameters
        ----------
        folder : path
        ax : Axes, optional
            Axes to draw into; a new figure if None.

        Returns
        -------
        display
        """
        run = read_run(Path(folder))
        if run.summary is None:
            raise ConfigError(f"{folder}: this run made no summary of the rows")
        return cls(run.summary, len(run.model.ids)).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, clients: Any = None, ax: Any = None
    ) -> Self:
        """Draw from an estimator whose number of clusters was chosen by a summary.

        Parameters
        ----------
        estimator : FederatedKMeans or FederatedFuzzyCMeans
        X, clients : ignored
            The summary is in the estimator.
        ax : Axes, optional
            Axes to draw into; a new figure if None.

        Returns
        -------
        display
        """
        summary = getattr(getattr(estimator, "choice_", None), "summary", None)
        if summary is None:
            raise ConfigError(
                "this fit made no summary of the rows; pass one: DendrogramDisplay(summary)"
            )
        return cls(summary, len(estimator.cluster_centers_)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the tree.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw into; a new figure if None.

        Returns
        -------
        display
        """
        from scipy.cluster.hierarchy import dendrogram

        linkage = _linkage(ward_tree(self.summary))
        height, k, n = linkage[:, 2], self.n_clusters, len(linkage) + 1
        cut = 0.0
        if k is not None and 1 < k <= len(height):
            cut = float((height[-k] + height[-k + 1]) / 2)
        plt = pyplot()
        with plt.rc_context(STYLE):
            if ax is None:
                _, ax = plt.subplots(figsize=(7.0, 3.8), layout="constrained")
            self.ax_, self.figure_ = ax, ax.figure
            dendrogram(
                linkage,
                p=min(_SHOWN, n),
                truncate_mode="lastp",
                no_labels=True,
                ax=ax,
                link_color_func=lambda node: ACCENT if height[node - n] < cut else SOFT,
            )
            if cut:
                ax.axhline(cut, color=SOFT, linestyle="--", linewidth=1)
                ax.annotate(
                    f"{k} clusters",
                    (1, cut),
                    xycoords=("axes fraction", "data"),
                    ha="right",
                    va="bottom",
                    color=SOFT,
                )
            ax.set_ylabel("height (Ward)")
            ax.set_ylim(bottom=0)
        return self
