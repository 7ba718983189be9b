"""Figures as SVG: scales, ticks and marks.

A figure has no colours of its own. Its marks have classes, and the style of the page gives them the
colours of the light, dark and print schemes. All text is escaped here.
"""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """A figure, and its text alternative for screen readers."""

    id: str
    svg: str
    label: str


@dataclass(frozen=True)
class Scale:
    """Values along an axis, from `low` at pixel `start` to `high` at pixel `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value is drawn."""
        low, high, at = ((math.log10(v) if self.log else v) for v in (self.low, self.high, value))
        share = 0.5 if high == low else (at - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """Round values within the scale, about as many as there is room for.

        >>> Scale(0.0, 1.0, 0, 100).ticks(6)
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        >>> Scale(0.003, 2.0, 0, 100, log=True).ticks(4)
        [0.01, 0.1, 1.0]
        """
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            apart = max(1, -(-(last - first + 1) // most))
            return [10.0**power for power in range(first, last + 1, apart)]
        step = _round_step((self.high - self.low) / max(most - 1, 1))
        lowest, highest = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step)))
        return [round(n * step, digits) for n in range(lowest, highest + 1)]


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below this."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(n * power for n in (1, 2, 5, 10) if n * power >= least * (1 - 1e-9))


def drawing(width: float, height: float, marks: Sequence[str]) -> str:
    """The element around all marks."""
    body = "".join(marks)
    return f'<svg viewBox="0 0 {_n(width)} {_n(height)}" aria-hidden="true">{body}</svg>'


def text(at: Point, words: str, kind: str = "", *, anchor: str = "middle") -> str:
    """Text at a point of its base line."""
    attributes = f' class="{kind}"' if kind else ""
    x, y = map(_n, at)
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{attributes}>{escape(words)}</text>'


def line(points: Sequence[Point], kind: str) -> str:
    """A line through points."""
    path = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
    return f'<path class="{kind}" d="M{path}"/>'


def dot(at: Point, radius: float, kind: str, title: str = "") -> str:
    """A circle, with words that appear where a pointer rests on it."""
    x, y = map(_n, at)
    words = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle class="{kind}" cx="{x}" cy="{y}" r="{_n(radius)}">{words}</circle>'


def star(at: Point, radius: float, kind: str, title: str) -> str:
    """A star of five points."""
    corners = [
        (
            at[0] + (radius if i % 2 == 0 else 0.45 * radius) * math.sin(i * math.pi / 5),
            at[1] - (radius if i % 2 == 0 else 0.45 * radius) * math.cos(i * math.pi / 5),
        )
        for i in range(10)
    ]
    path = "L".join(f"{_n(x)} {_n(y)}" for x, y in corners)
    return f'<path class="{kind}" d="M{path}Z"><title>{escape(title)}</title></path>'


def frame(x: Scale, y: Scale, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> list[str]:
    """Grid lines with the values of the ticks, for a chart."""
    marks = []
    for value in y_ticks:
        at = y.place(value)
        marks.append(line([(x.start, at), (x.end, at)], "grid"))
        marks.append(text((x.start - 7, at + 4), tick(value), anchor="end"))
    marks += [text((x.place(value), y.start + 18), tick(value)) for value in x_ticks]
    return marks


def tick(value: float) -> str:
    """The value of a tick.

    >>> tick(3.0), tick(0.25), tick(1e-05), tick(12000.0)
    ('3', '0.25', '1e-05', '12,000')
    """
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e6 else f"{value:g}"


def escape(words: str) -> str:
    """Text as content of an element or of an attribute."""
    return html.escape(words, quote=True)


def _n(value: float) -> str:
    """A coordinate: tenths are enough, and keep the page small."""
    return f"{value:.1f}".removesuffix(".0")
