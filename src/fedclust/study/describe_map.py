"""The map of a run: clusters as ellipses in a plane, over counts of rows."""

from collections.abc import Sequence

import numpy as np

from ..clustering.model import Model
from ..clustering.preparation import round_to
from ..kernels.directions import main_directions, point_forward
from ..metrics import ClusterShapes, MapCounts
from ..metrics.profile import ClusterShapeSums
from ..results import ClusterMap, Coverage, Ellipse, MapAxis, MapGrid
from ..typing import FloatArray
from .cluster_statistics import ClusterQueries, ClusterStatistics

_CELLS = (8, 32)  # minimum and maximum number of cells along a side of the map
_REACH = 3.5  # standard deviations around clusters that the map shows

Cells = tuple[tuple[int | None, ...], ...]  # counts of rows, a row of cells for each y


def draw_map(
    model: Model, statistics: ClusterStatistics, coverage: Coverage, queries: ClusterQueries
) -> ClusterMap:
    """The plane that shows most of the variance, with ellipses and counts."""
    names = model.preparation.names
    axes = point_forward(main_directions(statistics.covariance, 2).vectors)
    shapes = ClusterShapes(len(model.centers), model.centers, axes, model.density)
    found: ClusterShapeSums = queries.run(shapes, "map").model
    variance = _variance(model.centers @ axes, found)
    ellipses = _draw_ellipses(model, statistics, found, axes, variance, queries.min_count)
    low, high = _frame(ellipses, statistics.mean @ axes)
    side = int(np.clip(np.sqrt(statistics.size.sum() / (2 * queries.min_count)), *_CELLS))
    counts: Cells = ()
    if coverage == "all" and not queries.tier.sums_only:
        counts = _count_cells(axes, low, high, side, queries)
    shares = variance / max((statistics.overall_spread**2).sum(), 1e-300)
    if statistics.rounded:
        shares = round_to(shares, np.array(queries.min_count / statistics.size.sum()))
    first, second = (
        MapAxis(float(share), dict(zip(names, axis.tolist(), strict=True)))
        for share, axis in zip(shares, axes.T, strict=True)
    )
    x, y = (tuple(np.linspace(low[d], high[d], side + 1).tolist()) for d in (0, 1))
    return ClusterMap((first, second), ellipses, MapGrid(x, y, counts))


def _variance(centers: FloatArray, found: ClusterShapeSums) -> FloatArray:
    """Variance of all rows along the two axes."""
    n, held = max(found.size.sum(), 1.0), np.maximum(found.size, 1.0)[:, None]
    means = centers + found.total / held
    own = found.square.diagonal(axis1=1, axis2=2).sum(axis=0) - (found.total**2 / held).sum(axis=0)
    apart = means - found.size @ means / n
    variance: FloatArray = (np.maximum(own, 0.0) + found.size @ apart**2) / n
    return variance


def _draw_ellipses(
    model: Model,
    statistics: ClusterStatistics,
    found: ClusterShapeSums,
    axes: FloatArray,
    variance: FloatArray,
    minimum: int,
) -> tuple[Ellipse, ...]:
    drawn = []
    scale = np.sqrt(np.outer(variance, variance))
    for c, id in enumerate(model.ids):
        if found.size[c] == 0 or not statistics.shown[c]:
            continue
        moved = found.total[c] / found.size[c]
        covariance = found.square[c] / found.size[c] - np.outer(moved, moved)
        if statistics.rounded:
            covariance = round_to(covariance, minimum * scale / found.size[c])
        values, vectors = np.linalg.eigh(covariance)
        a, b = np.sqrt(np.maximum(values[::-1], 0.0)).tolist()
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        x, y = (statistics.mean[c] @ axes).tolist()
        drawn.append(Ellipse(id=id, center=(x, y), radii=(a, b), angle=angle))
    return tuple(drawn)


def _frame(ellipses: Sequence[Ellipse], means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The part of the plane that the map shows: clusters and their surroundings, not all rows."""
    middles = np.array([e.center for e in ellipses] or means)
    reach = _REACH * np.array([[max(e.radii)] for e in ellipses] or [[1.0]])
    low, high = (middles - reach).min(axis=0), (middles + reach).max(axis=0)
    flat = high - low < 1e-9
    return np.where(flat, low - 1.0, low), np.where(flat, high + 1.0, high)


def _count_cells(
    axes: FloatArray, low: FloatArray, high: FloatArray, side: int, queries: ClusterQueries
) -> Cells:
    """Rows of all clients together in each cell; None below the minimum."""
    done = queries.run(MapCounts(axes, low, high, side), "counts")
    cells = done.model.cells.reshape(side, side).T.astype(int).tolist()
    return tuple(tuple(n if n >= queries.min_count else None for n in row) for row in cells)
