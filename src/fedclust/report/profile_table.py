"""The profile of the clusters as a table whose cells have the colour of their effect."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..results import FeatureProfile
from .amounts import DASH, signed
from .features import Feature, rank_features
from .folder import RunFiles

_LEAST, _MOST = 1.0, 3.0  # standard deviations: limits of the scale of colours


@dataclass(frozen=True)
class Cell:
    """A feature of a cluster."""

    mean: str
    sd: str
    side: str  # "up" or "down" from the mean of all rows; empty if that is not known
    strength: int  # of the colour, in percent
    words: str  # the effect


_HIDDEN = Cell(DASH, "", "", 0, "")  # noise is not shown as if it were a mean


@dataclass(frozen=True)
class Row:
    """A feature of all clusters."""

    feature: Feature
    cells: tuple[Cell, ...]
    overall: str
    overall_sd: str


def profile_table(run: RunFiles, features: Sequence[Feature]) -> tuple[list[Row], float]:
    """The rows, those in which the clusters differ most first, and the limit of the colours."""
    clusters = run.profile.clusters
    known = [abs(f.effect) for c in clusters for f in c.features if f.effect is not None]
    limit = min(max([_LEAST, *known]), _MOST)
    several, rows = len(clusters) > 1, []
    for place in rank_features(run.model, clusters):
        feature = features[place]
        own = [cluster.features[place] for cluster in clusters]
        cells = (_cell(one, feature, limit if several else None) for one in own)
        shown = zip(cells, clusters, strict=True)
        rows.append(
            Row(
                feature,
                tuple(cell if cluster.reliable else _HIDDEN for cell, cluster in shown),
                feature.value(own[0].overall_mean),
                feature.spread(own[0].overall_sd),
            )
        )
    return rows, limit


def _cell(own: FeatureProfile, feature: Feature, limit: float | None) -> Cell:
    mean, sd = feature.value(own.mean), feature.spread(own.sd)
    if own.effect is None or limit is None:
        return Cell(mean, sd, "", 0, "")
    strength = round(100 * min(abs(own.effect) / limit, 1.0))
    side = "up" if own.effect > 0 else "down"
    return Cell(mean, sd, side, strength, f"{signed(own.effect, 2)} sd")
