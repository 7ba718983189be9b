"""The figures of the report besides the map: evidence for k, and convergence."""

from collections.abc import Iterator, Sequence

from ..clustering.choose_k.rule import NEAR, REAPPEARS
from ..clustering.choose_k.score import WEAKEST_CLUSTER
from ..metrics import simplified_silhouette
from ..results import ChoiceRecord
from . import svg
from .folder import RunFiles
from .svg import Figure, Scale
from .words import index_name, moved

_SMALL = (300.0, 190.0)  # width and height of a figure among several
_WIDE = (680.0, 250.0)


def scores(choice: ChoiceRecord) -> list[Figure]:
    """A figure for each index that was measured."""
    return [_score(choice, index, place) for place, index in enumerate(choice.measured)]


def deciding(choice: ChoiceRecord) -> tuple[str, ...]:
    """The indices that the rule for k looks at; all of them, if it could use none."""
    decide = (WEAKEST_CLUSTER.name, simplified_silhouette.name)
    found = tuple(index for index in choice.measured if index in decide)
    return found or choice.measured


def threshold(choice: ChoiceRecord, index: str) -> float | None:
    """The value from which the rule takes a number of clusters into account."""
    if index == WEAKEST_CLUSTER.name:
        return REAPPEARS
    if index == simplified_silhouette.name:
        return max(value for _, value in known_scores(choice, index)) - NEAR
    return None


def known_scores(choice: ChoiceRecord, index: str) -> list[tuple[int, float]]:
    """The values of an index, by number of clusters."""
    pairs = ((score.n_clusters, score.indices.get(index)) for score in choice.scores)
    return [(k, value) for k, value in pairs if value is not None]


def _score(choice: ChoiceRecord, index: str, place: int) -> Figure:
    """One index over the numbers of clusters that were tried."""
    known, best = known_scores(choice, index), choice.recommended
    favourite, least = choice.favourites.get(index), threshold(choice, index)
    ks = [score.n_clusters for score in choice.scores]
    (width, height), values = _SMALL, [value for _, value in known]
    low, high = _range([*values, *([] if least is None else [least])])
    x = Scale(ks[0], ks[-1], 46.0, width - 16.0)
    y = Scale(low, high, height - 42.0, 12.0)
    marks = svg.frame(x, y, _integers(ks), y.ticks(5))
    marks.append(svg.text(((x.start + x.end) / 2, height - 6), "clusters", "axis"))
    marks.append(svg.line([(x.place(best), y.start), (x.place(best), y.end)], "chosen"))
    if least is not None:
        at = y.place(least)
        marks.append(svg.line([(x.start, at), (x.end, at)], "threshold"))
        marks.append(svg.text((x.end, at - 5), f"at least {least:.2f}", "note", anchor="end"))
    marks += [
        svg.line([(x.place(k), y.place(v)) for k, v in part], "curve") for part in _parts(ks, known)
    ]
    for k, value in known:
        at_point, words = (x.place(k), y.place(value)), f"{k} clusters: {value:.4g}"
        if k == favourite:
            marks.append(svg.star(at_point, 8, "favourite", words))
        else:
            marks.append(svg.dot(at_point, 3.5, "point", words))
    alone = "" if favourite is None else f" By this index alone: {favourite}."
    label = f"{index_name(index)} for {ks[0]} to {ks[-1]} clusters; recommended: {best}.{alone}"
    return Figure(f"choice-{place}", svg.drawing(width, height, marks), label)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Limits of an axis, with some room around the values."""
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room


def _integers(ks: Sequence[int]) -> list[float]:
    step = max(1, -(-(ks[-1] - ks[0]) // 7))
    return [float(k) for k in ks if (k - ks[0]) % step == 0]


def _parts(
    ks: Sequence[int], known: Sequence[tuple[int, float]]
) -> Iterator[list[tuple[int, float]]]:
    """Neighbours that a line joins; values that are not known interrupt it."""
    by_k, part = dict(known), []
    for k in ks:
        if k in by_k:
            part.append((k, by_k[k]))
        elif part:
            yield part
            part = []
    if part:
        yield part


def shifts(run: RunFiles) -> Figure | None:
    """How far the centres moved in each round; None if no round records it."""
    known = [(line.round + 1, line.shift, line.n_clients) for line in run.history if line.shift]
    if not known:  # a log scale cannot show zero
        return None
    width, height = _WIDE
    values = [shift for _, shift, _ in known]
    low, high = min(values) / 1.5, max(values) * 1.5
    x = Scale(known[0][0], known[-1][0], 88.0, width - 16.0)
    y = Scale(low, high, height - 46.0, 12.0, log=True)
    steps = Scale(known[0][0], known[-1][0], 0, 1).ticks(10)
    marks = svg.frame(x, y, [s for s in steps if s == int(s)], y.ticks(5))
    marks.append(svg.text(((x.start + x.end) / 2, height - 6), "round", "axis"))
    at = [(x.place(round), y.place(shift)) for round, shift, _ in known]
    marks.append(svg.line(at, "curve strong"))
    marks += [
        svg.dot(
            place,
            4 if len(known) <= 40 else 2,
            "point strong",
            f"round {round}: {shift:.3g}, {n} clients",
        )
        for place, (round, shift, n) in zip(at, known, strict=True)
    ]
    label = (
        f"Shift of the {moved(run)} in {len(known)} rounds, from {values[0]:.2g} to "
        f"{values[-1]:.2g}, on a logarithmic scale."
    )
    return Figure("shifts", svg.drawing(width, height, marks), label)
