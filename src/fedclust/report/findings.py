"""What was found, in words; every word follows from a number in the run's files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .amounts import listed, several, share, signed
from .colours import colour, ink_on
from .features import Feature
from .folder import RunFiles

SMALL = 0.2  # standard deviations: by common usage, less than this is hardly a difference
_POINTS = 3
_NAMED = 5  # clients that a card names


@dataclass(frozen=True)
class Point:
    """One thing that makes a cluster different."""

    name: str
    value: str
    overall: str  # empty where nobody tells of all rows
    effect: str
    higher: bool


@dataclass(frozen=True)
class Part:
    """A client's part of a cluster."""

    client: str
    size: float | None
    percent: float  # of the parts that are known


@dataclass(frozen=True)
class Card:
    """A cluster at a glance."""

    id: int
    colour: str
    ink: str
    size: float | None
    share: str
    points: tuple[Point, ...]
    parts: tuple[Part, ...]
    entropy: float | None

    @property
    def named(self) -> tuple[Part, ...]:
        """The largest parts: as many as a card has room for."""
        known = sorted((p for p in self.parts if p.size), key=lambda p: -(p.size or 0))
        return tuple(known[: _NAMED + 1 if len(known) == _NAMED + 1 else _NAMED])

    @property
    def others(self) -> int:
        """How many more clients have known parts."""
        return sum(bool(p.size) for p in self.parts) - len(self.named)

    @property
    def withheld(self) -> int:
        """How many clients' parts are below the minimum."""
        return sum(p.size is None for p in self.parts)


def cards(run: RunFiles, features: list[Feature]) -> list[Card]:
    """A card for each cluster, in the order of the run."""
    clusters = run.profile["clusters"]
    total = sum(c["size"] or 0 for c in clusters)
    ranked = _ranked(run, len(features))
    return [_card(cluster, total, features, ranked) for cluster in clusters]


def _card(
    cluster: Mapping[str, Any], total: float, features: list[Feature], ranked: list[int]
) -> Card:
    id, size, by_client = cluster["id"], cluster["size"], cluster["by_client"]
    known = sum(n or 0 for n in by_client.values())
    parts = [Part(client, n, 100 * (n or 0) / (known or 1)) for client, n in by_client.items()]
    return Card(
        id=id,
        colour=colour(id),
        ink=ink_on(colour(id)),
        size=size,
        share="" if size is None or not total else share(size / total),
        points=tuple(_points(cluster, features) or _means(cluster, features, ranked)),
        parts=tuple(parts),
        entropy=cluster["entropy"],
    )


def _points(cluster: Mapping[str, Any], features: list[Feature]) -> list[Point]:
    """The columns that differ most; of the categories of one column, the one that does."""
    pairs = zip(features, cluster["features"], strict=True)
    told = [(feature, f) for feature, f in pairs if f["effect"]]
    told.sort(key=lambda pair: abs(pair[1]["effect"]))
    strongest = {feature.source: (feature, f) for feature, f in told}
    ranked = sorted(strongest.values(), key=lambda pair: -abs(pair[1]["effect"]))
    return [
        Point(
            name=feature.name,
            value=feature.in_units(f["mean"]),
            overall=feature.value(feature.overall),
            effect=signed(f["effect"]),
            higher=f["effect"] > 0,
        )
        for feature, f in ranked[:_POINTS]
    ]


def _means(cluster: Mapping[str, Any], features: list[Feature], ranked: list[int]) -> list[Point]:
    """Where nobody tells of all rows: means of the columns in which clusters lie far apart."""
    told = [(features[place], cluster["features"][place]) for place in ranked]
    if any(f["effect"] is not None for _, f in told):
        return []
    return [Point(feature.name, feature.in_units(f["mean"]), "", "", False) for feature, f in told][
        :_POINTS
    ]


def summary(run: RunFiles, features: list[Feature]) -> tuple[str, str]:
    """The finding in two sentences."""
    clusters, clients = run.profile["clusters"], run.profile["clients"]
    told = all(c["used"] is not None for c in clients)
    rows = several(sum(c["used"] for c in clients), "row") if told else "The rows"
    whose = f"{rows} of {several(len(clients), 'client')}"
    if run.columns_split:
        records = several(run.model["n_records"], "record")
        whose = f"{records} that {several(len(clients), 'owner')} have"
    first = f"{whose} form {several(len(clusters), 'cluster')}"
    sized = [c for c in clusters if c["size"]]
    total = sum(c["size"] for c in sized)
    if len(clusters) > 1 and total:
        largest, smallest = (pick(sized, key=lambda c: c["size"]) for pick in (max, min))
        first += (
            f": the largest, cluster {largest['id']}, holds {share(largest['size'] / total)} of "
            f"them, the smallest, cluster {smallest['id']}, {share(smallest['size'] / total)}"
        )
    small = sum(not c["size"] for c in clusters)
    if total and small:
        has = "has" if small == 1 else "have"
        guarded = run.model["privacy"].get("parameters", {}).get("change")
        words = "no size: few rows, or held back" if guarded else "no rows, or few"
        first += f"; {small} of the clusters {has} {words}"
    if run.choice and run.choice.get("weak"):
        first += "; the evidence for any clusters at all is weak"
    return f"{first}.", _differences(run, features)


def _differences(run: RunFiles, features: list[Feature]) -> str:
    if run.columns_split:
        return "What sets them apart each owner sees in its own part of the centres."
    clusters = [c for c in run.profile["clusters"] if c["size"] != 0]
    if len(clusters) <= 1:
        return "With one cluster there is no other to compare it with."
    importance = [_importance(run, clusters, place) for place in range(len(features))]
    ranked = _ranked(run, len(features))
    effects = [f["effect"] for c in clusters for f in c["features"] if f["effect"] is not None]
    largest = max(map(abs, effects), default=SMALL)
    if largest < SMALL:
        return (
            "Their means hardly differ: none is more than "
            f"{largest:.2f} standard deviations away from that of all rows."
        )
    chosen: dict[str, int] = {}
    for place in ranked:
        if importance[place] > 0:
            chosen.setdefault(features[place].source, place)
    words = [_range(clusters, features[place], place) for place in list(chosen.values())[:2]]
    return f"They differ most in {listed(words)}."


def _ranked(run: RunFiles, n: int) -> list[int]:
    """The columns in which clusters differ most first."""
    clusters = [c for c in run.profile["clusters"] if c["size"] != 0]
    return sorted(range(n), key=lambda place: -_importance(run, clusters, place))


def _importance(run: RunFiles, clusters: list[Any], place: int) -> float:
    """How much of the column's variance lies between the clusters; else, how far apart they are."""
    if any(f["effect"] is not None for c in clusters for f in c["features"]):
        told = [(c["size"] or 1, c["features"][place]["effect"] or 0) for c in clusters]
        return float(sum(size * effect**2 for size, effect in told))
    centers = [c["center"][place] for c in run.model["clusters"] if "center" in c]
    return float(max(centers) - min(centers)) if centers else 0.0


def _range(clusters: list[Any], feature: Feature, place: int) -> str:
    told = [(c["features"][place]["mean"], c["id"]) for c in clusters]
    means = [(mean, id) for mean, id in told if mean is not None]
    if not means:
        return feature.name
    (low, at_low), (high, at_high) = min(means), max(means)
    return (
        f"{feature.name} (from {feature.value(low)} in cluster {at_low} to "
        f"{feature.in_units(high)} in cluster {at_high})"
    )
