"""Summary and cluster cards, derived from the numbers in the run's files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..clustering.model import ColumnsModel
from ..results import ClusterProfile
from .amounts import listed, several, share, signed
from .colours import colour, ink_on
from .features import Feature, measure_differences, rank_features, strongest_by_column
from .folder import RunFiles

SMALL = 0.2  # standard deviations; smaller effects are conventionally negligible
_POINTS = 3  # features per card
_NAMED = 5  # clients named on a card


@dataclass(frozen=True)
class Point:
    """A feature that distinguishes a cluster."""

    name: str
    value: str
    overall: str  # empty if statistics of all rows are not known
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
    """Content of a cluster's card."""

    id: int
    colour: str
    ink: str
    size: float | None
    share: str
    points: tuple[Point, ...]
    parts: tuple[Part, ...]
    entropy: float | None
    described: bool  # means may be shown
    name: str = ""
    reliable: bool = True  # noise does not hide it

    @property
    def named(self) -> tuple[Part, ...]:
        """The largest parts, limited to the number that fits on a card."""
        known = sorted((p for p in self.parts if p.size), key=lambda p: -(p.size or 0))
        return tuple(known[: _NAMED + 1 if len(known) == _NAMED + 1 else _NAMED])

    @property
    def others(self) -> int:
        """Number of other clients with known parts."""
        return sum(bool(p.size) for p in self.parts) - len(self.named)

    @property
    def withheld(self) -> int:
        """Number of clients whose part is withheld."""
        return sum(p.size is None for p in self.parts)


def cards(run: RunFiles, features: list[Feature], names: Mapping[int, str]) -> list[Card]:
    """A card for each cluster, in the order of the run."""
    clusters = run.profile.clusters
    total = sum(c.size or 0 for c in clusters)
    ranked = rank_features(run.model, clusters)
    return [
        _card(cluster, total, features, ranked, names.get(cluster.id, "")) for cluster in clusters
    ]


def _card(
    cluster: ClusterProfile, total: float, features: list[Feature], ranked: list[int], name: str
) -> Card:
    id, size, by_client = cluster.id, cluster.size, cluster.by_client
    known = sum(n or 0 for n in by_client.values())
    parts = [Part(client, n, 100 * (n or 0) / (known or 1)) for client, n in by_client.items()]
    points = _find_points(cluster, features) or _list_means(cluster, features, ranked)
    return Card(
        id=id,
        colour=colour(id),
        ink=ink_on(colour(id)),
        size=size,
        share="" if size is None or not total else share(size / total),
        points=tuple(points if cluster.reliable else ()),
        parts=tuple(parts),
        entropy=cluster.entropy,
        described=any(feature.mean is not None for feature in cluster.features),
        name=name,
        reliable=cluster.reliable,
    )


def _find_points(cluster: ClusterProfile, features: list[Feature]) -> list[Point]:
    """The features that differ most; at most one category per column."""
    ranked = strongest_by_column(cluster, features)
    return [
        Point(
            name=feature.name,
            value=feature.in_units(own.mean),
            overall=feature.value(feature.overall),
            effect=signed(own.effect or 0.0),
            higher=(own.effect or 0.0) > 0,
        )
        for feature, own in ranked[:_POINTS]
    ]


def _list_means(cluster: ClusterProfile, features: list[Feature], ranked: list[int]) -> list[Point]:
    """Without statistics of all rows: means of the features in which clusters differ most."""
    pairs = [(features[place], cluster.features[place]) for place in ranked]
    if any(f.effect is not None or f.mean is None for _, f in pairs):
        return []
    return [
        Point(feature.name, feature.in_units(f.mean), "", "", False)
        for feature, f in pairs[:_POINTS]
    ]


def summary(run: RunFiles, features: list[Feature]) -> tuple[str, str]:
    """Two sentences: the number and sizes of the clusters, and how they differ."""
    clusters = run.profile.clusters
    first = f"{_whose(run)} form {several(len(clusters), 'cluster')}"
    sized = [(cluster.size, cluster.id) for cluster in clusters if cluster.size]
    total = sum(size for size, _ in sized)
    if len(clusters) > 1 and total:
        (most, largest), (least, smallest) = (
            pick(sized, key=lambda s: s[0]) for pick in (max, min)
        )
        first += (
            f": the largest, cluster {largest}, holds {share(most / total)} of "
            f"them, the smallest, cluster {smallest}, {share(least / total)}"
        )
    if total:
        first += _describe_small(run)
    return f"{first}.", _differences(run, features)


def _describe_small(run: RunFiles) -> str:
    """How many clusters have no rows, few, or an unknown number; empty if none has."""
    sizes = [cluster.size for cluster in run.profile.clusters]
    minimum = run.profile.minimum
    counts = {
        "an unknown size (empty, small or withheld)": sizes.count(None),
        "no rows": sizes.count(0),
        f"fewer than {minimum}": sum(1 for n in sizes if n and n < minimum),
    }
    words = [
        f"; {n} of the clusters {'has' if n == 1 else 'have'} {what}"
        for what, n in counts.items()
        if n
    ]
    return "".join(words)


def _whose(run: RunFiles) -> str:
    n = len(run.profile.clients)
    if isinstance(run.model, ColumnsModel):
        return f"{several(run.model.n_records, 'record')} shared by {several(n, 'owner')}"
    rows = several(run.profile.rows_used, "row") if run.profile.rows_known else "The rows"
    return f"{rows} of {several(n, 'client')}"


def _differences(run: RunFiles, features: list[Feature]) -> str:
    if run.columns_split:
        return "Each owner can see how they differ in its own columns only."
    clusters = _comparable(run)
    if len(clusters) <= 1 < len(_not_empty(run)):
        return "The noise hides how they differ."
    if len(clusters) <= 1:
        return "With only one cluster there is nothing to compare."
    differences = measure_differences(run.model, clusters)
    effects = [f.effect for c in clusters for f in c.features if f.effect is not None]
    largest = max(map(abs, effects), default=SMALL)
    if largest < SMALL:
        return (
            "Their means hardly differ: none is more than "
            f"{largest:.2f} standard deviations from the mean of all rows."
        )
    chosen: dict[str, int] = {}
    for place in rank_features(run.model, run.profile.clusters):
        if differences[place] > 0:
            chosen.setdefault(features[place].source, place)
    texts = [_range(clusters, features[place], place) for place in list(chosen.values())[:2]]
    return f"They differ most in {listed(texts)}."


def _not_empty(run: RunFiles) -> list[ClusterProfile]:
    return [cluster for cluster in run.profile.clusters if cluster.size != 0]


def _comparable(run: RunFiles) -> list[ClusterProfile]:
    """The clusters that a sentence may be about: with rows, and not hidden by noise."""
    return [cluster for cluster in _not_empty(run) if cluster.reliable]


def _range(clusters: Sequence[ClusterProfile], feature: Feature, place: int) -> str:
    known = [(c.features[place].mean, c.id) for c in clusters]
    means = [(mean, id) for mean, id in known if mean is not None]
    if not means:
        return feature.name
    (low, at_low), (high, at_high) = min(means), max(means)
    return (
        f"{feature.name} (from {feature.value(low)} in cluster {at_low} to "
        f"{feature.in_units(high)} in cluster {at_high})"
    )
