"""What the clusters are: their profile, and their map."""

from textwrap import fill
from typing import Any

import numpy as np

from ..core import ConfigError
from ..report.amounts import share, signed
from ..report.cluster_map import axis_titles
from ..report.colours import colour, ink_on
from ..report.features import features, rank_features
from ..results import Ellipse, MapGrid
from ._base import HIGH, INK, LOW, MIDDLE, SOFT, Display

_MOST_FEATURES = 25
_LINE = 46  # letters in a line of an axis title
_WRITTEN = 12  # with more clusters there is no room for numbers in the cells


class ProfileDisplay(Display):
    """How the clusters differ: the mean of each feature against that of all rows.

    The features in which the clusters differ most come first, as in the report.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedKMeans
    >>> from fedclust.plot import ProfileDisplay
    >>> rows = np.random.default_rng(0).normal(np.repeat([[0, 5], [9, 1]], 40, axis=0))
    >>> model = FederatedKMeans(2, random_state=0).fit([rows[::2], rows[1::2]])
    >>> display = ProfileDisplay.from_estimator(model, [rows[::2], rows[1::2]])
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['x0', 'x1']
    """

    def _size(self) -> tuple[float, float]:
        n = min(len(self.run.profile.clusters[0].features), _MOST_FEATURES)
        return 2.6 + 0.75 * max(len(self.run.profile.clusters), 4), 1.1 + 0.34 * n

    def _draw(self, ax: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        columns, clusters = features(self.run), self.run.profile.clusters
        if not any(f.effect is not None for c in clusters for f in c.features):
            raise ConfigError("this run has no means of all rows, so there is no profile to draw")
        order = rank_features(self.run.model, clusters)[:_MOST_FEATURES]
        effects = np.array([[c.features[p].effect for c in clusters] for p in order], dtype=float)
        limit = min(max(1.0, float(np.nanmax(np.abs(effects)))), 3.0)
        colours = LinearSegmentedColormap.from_list("effects", [LOW, MIDDLE, HIGH])
        image = ax.imshow(effects, cmap=colours, vmin=-limit, vmax=limit, aspect="auto")
        ax.set_yticks(range(len(order)), [columns[p].head for p in order])
        ax.xaxis.tick_top()
        ax.tick_params(axis="x", pad=8)
        ax.set_xticks(range(len(clusters)), [str(c.id) for c in clusters], fontweight="bold")
        for label, cluster in zip(ax.get_xticklabels(), clusters, strict=True):
            own = colour(cluster.id)
            label.set(color=ink_on(own), bbox={"boxstyle": "circle,pad=0.25", "fc": own, "ec": own})
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set_xticks(np.arange(len(clusters) - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(len(order) - 1) + 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=2)
        ax.tick_params(which="minor", length=0)
        if len(clusters) <= _WRITTEN:
            for i, p in enumerate(order):
                for j, cluster in enumerate(clusters):
                    mean = columns[p].value(cluster.features[p].mean)
                    ax.text(j, i, mean, ha="center", va="center", color=INK)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, aspect=18, pad=0.02)
        bar.set_ticks([-limit, 0, limit], labels=[f"{signed(v)} sd" for v in (-limit, 0, limit)])
        bar.outline.set_visible(False)


class MapDisplay(Display):
    """Clusters as ellipses, in the plane that shows most of the variance, over counts of rows.

    No rows are drawn: ellipses show one and two standard deviations, and cells with fewer than
    ``min_count`` rows are empty.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedKMeans
    >>> from fedclust.plot import MapDisplay
    >>> rows = np.random.default_rng(0).normal(np.repeat([[0, 5], [9, 1]], 40, axis=0))
    >>> model = FederatedKMeans(2, random_state=0).fit([rows[::2], rows[1::2]])
    >>> display = MapDisplay.from_estimator(model, [rows[::2], rows[1::2]])
    >>> len(display.ax_.patches)  # two ellipses for each cluster
    4
    """

    def _size(self) -> tuple[float, float]:
        return 6.0, 5.2

    def _draw(self, ax: Any) -> None:
        drawn = self.run.profile.map
        if drawn is None:
            raise ConfigError("this run has no map: it needs two columns, and shapes of clusters")
        _draw_counts(ax, drawn.grid)
        for ellipse in drawn.ellipses:
            _draw_ellipse(ax, ellipse)
        ax.autoscale_view()
        ax.set_aspect("equal", adjustable="datalim")
        across, up = axis_titles(drawn, features(self.run))
        ax.set_xlabel(fill(across, _LINE))
        ax.set_ylabel(fill(up, _LINE))
        shown = sum(axis.share for axis in drawn.axes)
        ax.set_title(f"{share(shown)} of the variance", color=SOFT, fontweight="normal")
        ax.tick_params(labelsize=8)


def _draw_counts(ax: Any, grid: MapGrid) -> None:
    """Shades for cells with enough rows, on a logarithmic scale."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    counts = np.array([[n or np.nan for n in row] for row in grid.counts], dtype=float)
    if not counts.size or np.isnan(counts).all():
        return
    shades = LinearSegmentedColormap.from_list("counts", ["#eceef1", "#7b8493"])
    least, most = float(np.nanmin(counts)), float(np.nanmax(counts))
    norm = LogNorm(least, max(most, least + 1))
    image = ax.pcolormesh(grid.x, grid.y, counts, cmap=shades, norm=norm)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.5, aspect=18, pad=0.02)
    bar.set_ticks([least, most], labels=[f"{least:,.0f} rows", f"{most:,.0f} rows"])
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)


def _draw_ellipse(ax: Any, ellipse: Ellipse) -> None:
    """One and two standard deviations around a cluster, and its number."""
    from matplotlib import patches

    own = colour(ellipse.id)
    for deviations in (2, 1):
        wide, high = (max(2 * deviations * r, 1e-9) for r in ellipse.radii)
        ring = patches.Ellipse(ellipse.center, wide, high, angle=ellipse.angle or 0.0)
        dash = "-" if deviations == 1 else "--"
        ring.set(fill=False, edgecolor=own, linestyle=dash, linewidth=3 - deviations)
        ax.add_patch(ring)
    box = {"boxstyle": "circle,pad=0.25", "facecolor": own, "edgecolor": "white"}
    centred = {"ha": "center", "va": "center", "fontweight": "bold"}
    ax.text(*ellipse.center, str(ellipse.id), color=ink_on(own), bbox=box, **centred)
