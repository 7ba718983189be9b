"""The figures, as plain Plotly specifications.

Colours of the page are written as CSS variables ("var(--ink)"): page.js fills them in, so that
figures follow the light, dark and print styles. Names that come from files are escaped
here, since Plotly reads labels as a kind of HTML.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..results import ChoiceRecord, ClusterProfile, PhaseRecord
from .amounts import DASH, data_size, signed, size_unit
from .features import Feature
from .folder import RunFiles
from .words import index_name, moved

Spec = dict[str, Any]
_WRITTEN = 8  # with more clusters there is no room for numbers in the cells
_DIVERGING = [[0, "var(--low)"], [0.5, "var(--middle)"], [1, "var(--high)"]]


@dataclass(frozen=True)
class Figure:
    """A Plotly figure, its text alternative, and names that are shortened on narrow screens."""

    id: str
    data: list[Spec]
    layout: Spec
    label: str  # text alternative for screen readers
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)  # axis -> names of its ticks

    @property
    def spec(self) -> Spec:
        """What page.js draws."""
        return {
            "data": self.data,
            "layout": self.layout,
            "names": {axis: list(names) for axis, names in self.names.items()},
        }


def escape(text: str) -> str:
    """Escape a name, so that Plotly shows it unchanged."""
    return html.escape(text, quote=False)


def effects(run: RunFiles, features: Sequence[Feature]) -> Figure | None:
    """Heatmap of the effects; None if effects are unknown or there is only one cluster."""
    clusters = run.profile.clusters
    known = any(f.effect is not None for c in clusters for f in c.features)
    if len(clusters) == 1 or not known:
        return None
    layout = {
        "height": 64 + 28 * len(features),
        "margin": {"t": 4, "b": 56},
        "xaxis": {
            "title": {"text": "cluster"},
            "tickvals": list(range(len(clusters))),
            "ticktext": [str(c.id) for c in clusters],
            "tickangle": 0,
            "showgrid": False,
            "zeroline": False,
        },
        "yaxis": _names_axis(len(features)),
    }
    label = (
        f"Heatmap of {len(features)} features by {len(clusters)} clusters: how many standard "
        "deviations the mean of a cluster is above or below that of all rows. The table below "
        "shows the values."
    )
    cells = _cells(clusters, features)
    return Figure("effects", [cells], layout, label, {"yaxis": [f.name for f in features]})


def _names_axis(n: int) -> Spec:
    """An axis of names, the first at the top; page.js fills in the names."""
    return {
        "tickvals": list(range(n)),
        "autorange": "reversed",
        "showgrid": False,
        "zeroline": False,
    }


def _cells(clusters: Sequence[ClusterProfile], features: Sequence[Feature]) -> Spec:
    z = [[c.features[p].effect for c in clusters] for p in range(len(features))]
    known = [abs(e) for row in z for e in row if e is not None]
    limit = min(max([1.0, *known]), 3.0)
    cells: Spec = {
        "type": "heatmap",
        "z": z,
        "x": list(range(len(clusters))),
        "y": list(range(len(features))),
        "customdata": [
            [_hover(cluster, feature, place) for cluster in clusters]
            for place, feature in enumerate(features)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
        "colorscale": _DIVERGING,
        "zmin": -limit,
        "zmax": limit,
        "xgap": 2,
        "ygap": 2,
        "showscale": False,
    }
    if len(clusters) <= _WRITTEN:
        cells["text"] = [[DASH if e is None else signed(e) for e in row] for row in z]
        cells |= {"texttemplate": "%{text}", "textfont": {"color": "var(--ink)"}}
    return cells


def _hover(cluster: ClusterProfile, feature: Feature, place: int) -> str:
    own = cluster.features[place]
    effect = "" if own.effect is None else f"<br>{signed(own.effect, 2)} sd"
    return (
        f"<b>Cluster {cluster.id}</b>: {escape(feature.name)}<br>"
        f"{escape(feature.in_units(own.mean))} {feature.spread(own.sd)}"
        f" (all: {feature.value(feature.overall)}){effect}"
    )


def scores(choice: ChoiceRecord) -> list[Figure]:
    """A figure for each index that was measured."""
    return [_score(choice, index, place) for place, index in enumerate(choice.measured)]


def _score(choice: ChoiceRecord, index: str, place: int) -> Figure:
    """One index over the numbers of clusters that were tried."""
    ks = [score.n_clusters for score in choice.scores]
    best, favourite = choice.recommended, choice.favourites.get(index)
    line = {
        "type": "scatter",
        "x": ks,
        "y": [score.indices.get(index) for score in choice.scores],
        "mode": "lines+markers",
        "line": {"color": "var(--soft)", "width": 2},
        "marker": {
            "size": [13 if k == favourite else 7 for k in ks],
            "symbol": ["star" if k == favourite else "circle" for k in ks],
            "opacity": 1,
            "color": ["var(--accent)" if k == favourite else "var(--soft)" for k in ks],
        },
        "hovertemplate": "%{x} clusters: %{y:.4g}<extra></extra>",
    }
    mark = {"type": "line", "x0": best, "x1": best, "yref": "paper", "y0": 0, "y1": 1}
    layout = {
        "height": 210,
        "margin": {"t": 12, "b": 44, "l": 52, "r": 12},
        "xaxis": {
            "title": {"text": "clusters"},
            "showgrid": False,
            "dtick": _step(ks),
            "tickangle": 0,
        },
        "yaxis": {"nticks": 5, "zeroline": False},
        "shapes": [mark | {"line": {"color": "var(--accent)", "width": 2, "dash": "dot"}}],
    }
    alone = "" if favourite is None else f" By this index alone: {favourite}."
    label = f"{index_name(index)} for {ks[0]} to {ks[-1]} clusters; recommended: {best}.{alone}"
    return Figure(f"choice-{place}", [line], layout, label)


def _step(values: Sequence[int], ticks: int = 7) -> int:
    """Distance between ticks, so that there are not too many."""
    return max(1, -(-(max(values) - min(values)) // ticks))


def shifts(run: RunFiles) -> Figure | None:
    """How far the centres moved in each round; None if no round records it."""
    known = [line for line in run.history if line.shift]  # a log scale cannot show zero
    if not known:
        return None
    few = len(known) <= 40
    curve = {
        "type": "scatter",
        "x": [line.round + 1 for line in known],
        "y": [line.shift for line in known],
        "mode": "lines+markers" if few else "lines",
        "line": {"color": "var(--accent)", "width": 2},
        "marker": {"size": 7, "color": "var(--accent)"},
        "customdata": [line.n_clients for line in known],
        "hovertemplate": "round %{x}: %{y:.3g}<br>%{customdata} clients<extra></extra>",
    }
    layout = {
        "height": 280,
        "margin": {"t": 12},
        "xaxis": {
            "title": {"text": "round"},
            "showgrid": False,
            "tickformat": "d",
            "dtick": _step([line.round for line in known], 12),
        },
        "yaxis": {
            "title": {"text": f"shift of the {moved(run)}"},
            "type": "log",
            "tickformat": "~g",
            "nticks": 6,
        },
    }
    label = (
        f"Shift of the {moved(run)} in {len(known)} rounds, from {known[0].shift:.2g} to "
        f"{known[-1].shift:.2g}, on a logarithmic scale."
    )
    return Figure("shifts", [curve], layout, label)


def sent(run: RunFiles) -> Figure | None:
    """Bytes that each client sent in each phase; None if nothing was sent."""
    phases = run.profile.phases
    clients = [client.name for client in run.profile.clients]
    totals = [sum(phase.bytes_up.get(c, 0) for phase in phases) for c in clients]
    if not any(totals):
        return None
    divisor, unit = size_unit(max(totals))
    layout = {
        "height": 130 + 26 * len(clients),
        "margin": {"t": 12, "b": 48},
        "barmode": "stack",
        "bargap": 0.3,
        "xaxis": {"title": {"text": f"{unit} sent"}, "zeroline": False, "nticks": 6},
        "yaxis": _names_axis(len(clients)),
        "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
    }
    label = (
        f"Bytes sent by {len(clients)} clients in {len(phases)} phases, from "
        f"{data_size(min(totals))} to {data_size(max(totals))} each. The tables below show the "
        "values."
    )
    bars = [_bars(phase, place, clients, divisor) for place, phase in enumerate(phases)]
    return Figure("sent", bars, layout, label, {"yaxis": clients})


def _bars(phase: PhaseRecord, place: int, clients: Sequence[str], divisor: int) -> Spec:
    sizes = [phase.bytes_up.get(client, 0) for client in clients]
    return {
        "type": "bar",
        "orientation": "h",
        "name": escape(phase.name),
        "showlegend": True,
        "x": [n / divisor for n in sizes],
        "y": list(range(len(clients))),
        "customdata": [
            f"{escape(client)}<br>{data_size(n)}" for client, n in zip(clients, sizes, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
        "marker": {
            "color": f"var(--phase-{place % 8})",
            "line": {"color": "var(--card)", "width": 1},
        },
    }
