"""Results of cases: recorded as JSON, and compared field by field."""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).with_name("recorded.json")
RTOL = 1e-9  # of centres and inertia: linear algebra rounds differently on other machines
Results = Mapping[str, Mapping[str, Any]]  # by name of the case, then of the field


@dataclass(frozen=True)
class Result:
    """What is recorded of a case; a field is None if the case has no such value."""

    centers: list[list[float]] | None = None
    bits: str | None = None  # a hash of the centres' bits, where all machines agree on them
    labels: str | None = None  # a hash
    inertia: float | None = None
    rounds: int | None = None
    sizes: list[int | None] | None = None
    bytes_sent: dict[str, int] | None = None  # by client, as fedclust reports it
    wire_bytes: dict[str, int] | None = None  # by client, encoded answers
    files: list[str] | None = None
    ended: str | None = None  # "refused" before the run, or "failed" in it; None: it has a result
    words: str = ""  # the error message, which is not recorded

    def as_json(self) -> dict[str, Any]:
        """Plain values, for the recorded file."""
        values = asdict(self)
        return {name: values[name] for name in FIELDS if values[name] is not None}


FIELDS = tuple(field.name for field in fields(Result) if field.name != "words")


def hash_of(lines: Iterable[str]) -> str:
    """A short hash of lines of text."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def bits_of(values: Any) -> str:
    """A short hash of the bits of floating-point numbers."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()[:16]


def differences(name: str, recorded: Mapping[str, Any], now: Result) -> list[str]:
    """One line for each field whose value is not the recorded one."""
    current = now.as_json()
    if now.ended and now.ended != recorded.get("ended"):
        was = recorded.get("ended", "a result")
        return [f"{name}: ended: recorded {was}, now {now.ended}: {now.words}"]
    return [
        f"{name}: {field}: recorded {recorded.get(field)}, now {current.get(field)}"
        for field in FIELDS
        if not _same(field, recorded.get(field), current.get(field))
    ]


def _same(field: str, recorded: Any, now: Any) -> bool:
    if recorded is None or now is None:
        return recorded is now
    if field == "inertia":
        return math.isclose(recorded, now, rel_tol=RTOL)
    if field == "centers":
        a, b = np.asarray(recorded), np.asarray(now)
        return a.shape == b.shape and np.allclose(a, b, rtol=RTOL, atol=RTOL * np.abs(a).max())
    return bool(recorded == now)


def read_recorded() -> Results:
    """The recorded results."""
    found: Results = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def write_recorded(results: Results) -> None:
    """Write the recorded results, one field a line."""
    cases = (f"{json.dumps(name)}: {{\n{_lines(case)}\n}}" for name, case in results.items())
    RECORDED.write_text("{\n" + ",\n".join(cases) + "\n}\n", encoding="utf-8")


def _lines(case: Mapping[str, Any]) -> str:
    return ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in case.items())


def perturbed(case: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The case with one field changed, for each field in turn."""
    changes: dict[str, Callable[[Any], Any]] = {
        "centers": lambda v: [[x + 1e-6 for x in v[0]], *v[1:]],
        "inertia": lambda v: v * (1 + 1e-6),
        "rounds": lambda v: v + 1,
        "sizes": lambda v: v[::-1],
        "bytes_sent": lambda v: {client: n + 1 for client, n in v.items()},
        "wire_bytes": lambda v: {client: n - 1 for client, n in v.items()},
        "files": lambda v: v[1:],
    }
    for name, value in case.items():
        yield name, {**case, name: changes[name](value) if name in changes else "other"}
