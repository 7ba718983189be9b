"""Metrics in the text format of Prometheus, version 0.0.4.

>>> requests = Family("requests_total", Kind.COUNTER, "Requests.", (Sample(3, {"code": "data"}),))
>>> print(render([requests]), end="")
# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="data"} 3
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Kind(StrEnum):
    """The type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True)
class Sample:
    """A value, and the labels that distinguish it from others of its family."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """A metric: its name, type and help, and its samples."""

    name: str
    kind: Kind
    help: str
    samples: tuple[Sample, ...]


def gauge(name: str, help: str, value: float | None) -> Family:
    """A gauge with one sample, or with none if there is no value."""
    return Family(name, Kind.GAUGE, help, () if value is None else (Sample(value),))


def counter(name: str, help: str, value: float) -> Family:
    """A counter with one sample."""
    return Family(name, Kind.COUNTER, help, (Sample(value),))


def render(families: Iterable[Family]) -> str:
    """All families that have samples, as text."""
    return "".join(line + "\n" for family in families for line in _lines(family))


def _lines(family: Family) -> list[str]:
    if not family.samples:
        return []
    help = family.help.replace("\\", r"\\").replace("\n", r"\n")
    head = [f"# HELP {family.name} {help}", f"# TYPE {family.name} {family.kind}"]
    return head + [f"{family.name}{_labels(s.labels)} {_number(s.value)}" for s in family.samples]


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items()) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
