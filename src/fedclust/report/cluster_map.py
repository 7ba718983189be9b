"""The map: clusters in the plane that shows most of the variance between them."""

import math
from collections.abc import Mapping, Sequence

from ..results import Ellipse, MapAxis, MapGrid
from .amounts import share
from .colours import colour, ink_on
from .features import Feature
from .figures import Figure, Spec
from .folder import RunFiles

_CORNERS = 72  # of the polygon that draws an ellipse
_LOADINGS = 2  # columns named in an axis title


def cluster_map(run: RunFiles, features: Sequence[Feature]) -> Figure | None:
    """Ellipses of clusters over counts of rows; None if the run has no map."""
    drawn = run.profile.map
    if drawn is None:
        return None
    data = [_density(drawn.grid)] if drawn.grid.counts else []
    for ellipse in drawn.ellipses:
        data += [_ring(ellipse, 2), _ring(ellipse, 1)]
    data.append(_numbers(drawn.ellipses))
    names = {feature.name.replace(" = ", "="): feature.name for feature in features}
    titles = [_axis_title(axis, names) for axis in drawn.axes]
    layout: Spec = {
        "height": 560,
        "margin": {"t": 8, "b": 60, "l": 60, "r": 8},
        "showlegend": False,
        "xaxis": {"zeroline": False, "constrain": "domain"},
        "yaxis": {"zeroline": False, "scaleanchor": "x", "constrain": "domain"},
    }
    label = (
        f"Map of {len(drawn.ellipses)} clusters as ellipses over counts of rows. Across: "
        f"{titles[0]}. Up: {titles[1]}."
    )
    return Figure("map", data, layout, label, {"titles": titles})


def most_rows(grid: MapGrid) -> int:
    """The largest count of the map; 1 if no cell has enough rows to be counted."""
    return max((n for row in grid.counts for n in row if n), default=1)


def _density(grid: MapGrid) -> Spec:
    """Counts of rows as shades; cells without rows, or with few, are empty."""
    return {
        "type": "heatmap",
        "x": grid.x,
        "y": grid.y,
        "z": grid.counts,
        "zmin": 0,
        "zmax": most_rows(grid),
        "colorscale": [[0, "var(--few)"], [1, "var(--many)"]],
        "hovertemplate": "%{z} rows<extra></extra>",
        "hoverongaps": False,
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
    }


def _ring(ellipse: Ellipse, deviations: int) -> Spec:
    """The outline at a number of standard deviations."""
    (x, y), (a, b) = ellipse.center, ellipse.radii
    turn = math.radians(ellipse.angle or 0)
    around = [2 * math.pi * corner / _CORNERS for corner in range(_CORNERS + 1)]
    along = [(deviations * a * math.cos(t), deviations * b * math.sin(t)) for t in around]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [x + u * math.cos(turn) - v * math.sin(turn) for u, v in along],
        "y": [y + u * math.sin(turn) + v * math.cos(turn) for u, v in along],
        "line": {
            "color": colour(ellipse.id),
            "width": 3 if deviations == 1 else 1.5,
            "dash": "solid" if deviations == 1 else "dash",
        },
        "hovertemplate": f"Cluster {ellipse.id}, {deviations} sd<extra></extra>",
    }


def _numbers(ellipses: Sequence[Ellipse]) -> Spec:
    colours = [colour(e.id) for e in ellipses]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [e.center[0] for e in ellipses],
        "y": [e.center[1] for e in ellipses],
        "text": [str(e.id) for e in ellipses],
        "textfont": {"color": [ink_on(c) for c in colours], "size": 12},
        "marker": {
            "size": 22,
            "color": colours,
            "opacity": 1,
            "line": {"color": "var(--card)", "width": 1.5},
        },
        "hovertemplate": "Cluster %{text}<extra></extra>",
    }


def _axis_title(axis: MapAxis, names: Mapping[str, str]) -> str:
    """The share of variance, and the columns with the largest weights."""
    loadings = sorted(axis.loadings.items(), key=lambda pair: -abs(pair[1]))[:_LOADINGS]
    words = [f"{'more' if w > 0 else 'less'} {names.get(n, n)}" for n, w in loadings if w]
    return f"{share(axis.share)} of the variance" + (f": {', '.join(words)}" if words else "")
