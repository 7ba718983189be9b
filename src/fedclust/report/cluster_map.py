"""The map: clusters in the plane that shows most of the variance between them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..results import ClusterMap, Ellipse, MapAxis, MapGrid
from . import svg
from .amounts import share
from .colours import colour, ink_on
from .features import Feature
from .folder import RunFiles
from .svg import Figure, Scale

_WIDTH, _TALLEST = 640.0, 620.0
_LOADINGS = 2  # columns named in an axis title
_SHADES = 8  # of cells, by the logarithm of their counts
_FAINT, _DENSE = 0.12, 0.72  # opacity of cells with the fewest and with the most rows
_FAR = 2.2  # standard deviations around the clusters that the map shows at least


@dataclass(frozen=True)
class MapFigure(Figure):
    """The map, and the words beside it."""

    titles: tuple[str, str]  # of the axes
    most: int  # rows in a cell


def cluster_map(run: RunFiles, features: Sequence[Feature]) -> MapFigure | None:
    """Ellipses of clusters over counts of rows; None if the run has no map."""
    drawn = run.profile.map
    if drawn is None:
        return None
    x, y, height = _frame(drawn)
    marks = _density(drawn.grid, x, y) if drawn.grid.counts else []
    for ellipse in drawn.ellipses:
        marks += [_ring(ellipse, x, y, 2), _ring(ellipse, x, y, 1)]
    marks += [_number(ellipse, x, y) for ellipse in drawn.ellipses]
    across, up = axis_titles(drawn, features)
    label = (
        f"Map of {len(drawn.ellipses)} clusters as ellipses over counts of rows. Across: "
        f"{across}. Up: {up}."
    )
    picture = svg.drawing(_WIDTH, height, marks)
    return MapFigure("map", picture, label, (across, up), most_rows(drawn.grid))


def most_rows(grid: MapGrid) -> int:
    """The largest count of the map; 1 if no cell has enough rows to be counted."""
    return max((n for row in grid.counts for n in row if n), default=1)


def _frame(drawn: ClusterMap) -> tuple[Scale, Scale, float]:
    """The part of the plane with clusters or counted rows, at one scale in both directions."""
    low, high = [math.inf, math.inf], [-math.inf, -math.inf]
    for ellipse in drawn.ellipses:
        turn = math.radians(ellipse.angle or 0)
        a, b = ellipse.radii
        reach = (
            _FAR * math.hypot(a * math.cos(turn), b * math.sin(turn)),
            _FAR * math.hypot(a * math.sin(turn), b * math.cos(turn)),
        )
        for d in (0, 1):
            low[d] = min(low[d], ellipse.center[d] - reach[d])
            high[d] = max(high[d], ellipse.center[d] + reach[d])
    grid = drawn.grid
    for j, row in enumerate(grid.counts):
        for i, n in enumerate(row):
            if n:
                low = [min(low[0], grid.x[i]), min(low[1], grid.y[j])]
                high = [max(high[0], grid.x[i + 1]), max(high[1], grid.y[j + 1])]
    if math.inf in low:
        low, high = [grid.x[0], grid.y[0]], [grid.x[-1], grid.y[-1]]
    wide, tall = max(high[0] - low[0], 1e-300), max(high[1] - low[1], 1e-300)
    unit = min((_WIDTH - 8) / wide, (_TALLEST - 8) / tall)
    height = max(unit * tall, 160.0) + 8
    left, top = (_WIDTH - unit * wide) / 2, (height - unit * tall) / 2
    x = Scale(low[0], high[0], left, _WIDTH - left)
    return x, Scale(low[1], high[1], height - top, top), height


def _density(grid: MapGrid, x: Scale, y: Scale) -> list[str]:
    """Cells with rows, darker for more; those with few rows are empty."""
    paths: dict[int, list[str]] = {}
    least = min((n for row in grid.counts for n in row if n), default=1)
    spread = math.log(most_rows(grid) / least) or 1.0
    for j, row in enumerate(grid.counts):
        for i, n in enumerate(row):
            if not n:
                continue
            shade = round(_SHADES * math.log(n / least) / spread)
            left, right = x.place(grid.x[i]), x.place(grid.x[i + 1])
            top, bottom = y.place(grid.y[j + 1]), y.place(grid.y[j])
            cell = f"M{left:.1f} {top:.1f}H{right - 0.6:.1f}V{bottom - 0.6:.1f}H{left:.1f}Z"
            paths.setdefault(shade, []).append(cell)
    marks = []
    for shade, cells in sorted(paths.items()):
        opacity = _FAINT + (_DENSE - _FAINT) * shade / _SHADES
        marks.append(f'<path class="cells" fill-opacity="{opacity:.3g}" d="{"".join(cells)}"/>')
    return marks


def _ring(ellipse: Ellipse, x: Scale, y: Scale, deviations: int) -> str:
    """The outline at a number of standard deviations."""
    unit = (x.end - x.start) / (x.high - x.low)
    a, b = (max(deviations * r * unit, 0.5) for r in ellipse.radii)
    cx, cy = x.place(ellipse.center[0]), y.place(ellipse.center[1])
    turn = -(ellipse.angle or 0)
    kind = "ring" if deviations == 1 else "ring far"
    return (
        f'<ellipse class="{kind}" cx="{cx:.1f}" cy="{cy:.1f}" rx="{a:.1f}" ry="{b:.1f}" '
        f'transform="rotate({turn:.2f} {cx:.1f} {cy:.1f})" style="stroke:{colour(ellipse.id)}"/>'
    )


def _number(ellipse: Ellipse, x: Scale, y: Scale) -> str:
    """The number of a cluster, at its mean."""
    own = colour(ellipse.id)
    cx, cy = x.place(ellipse.center[0]), y.place(ellipse.center[1])
    return (
        f'<g><circle class="chip-dot" cx="{cx:.1f}" cy="{cy:.1f}" r="13" style="fill:{own}"/>'
        f'<text class="chip-text" x="{cx:.1f}" y="{cy:.1f}" dy=".35em" text-anchor="middle" '
        f'style="fill:{ink_on(own)}">{ellipse.id}</text></g>'
    )


def axis_titles(drawn: ClusterMap, features: Sequence[Feature]) -> tuple[str, str]:
    """What the map shows across and up."""
    names = {feature.name.replace(" = ", "="): feature.name for feature in features}
    across, up = (_axis_title(axis, names) for axis in drawn.axes)
    return across, up


def _axis_title(axis: MapAxis, names: Mapping[str, str]) -> str:
    """The share of variance, and the columns with the largest weights."""
    loadings = sorted(axis.loadings.items(), key=lambda pair: -abs(pair[1]))[:_LOADINGS]
    words = [f"{'more' if w > 0 else 'less'} {names.get(n, n)}" for n, w in loadings if w]
    return f"{share(axis.share)} of the variance" + (f": {', '.join(words)}" if words else "")
