"""Bounds that the name or the unit of a column suggests, for a person to confirm."""

import re
from collections.abc import Iterable
from typing import NamedTuple


class Suggestion(NamedTuple):
    """Bounds that such columns usually have."""

    low: float
    high: float
    why: str  # the word that suggests them


# What is publicly known of such quantities; wide enough that no value reveals itself.
_NAMES: tuple[tuple[str, float, float], ...] = (
    (r"age|alter|edad", 0, 120),
    (r"bmi", 10, 80),
    (r"(body_?)?(height|size_cm)|groesse", 40, 230),
    (r"(body_?)?weight|gewicht", 1, 300),
    (r"(heart_?rate|pulse|hr)", 20, 250),
    (r"(systolic|sbp|sys_?bp|trestbps)", 50, 260),
    (r"(diastolic|dbp|dia_?bp)", 20, 160),
    (r"(temp|temperature)", 30, 45),
    (r"(spo2|sao2|oxygen_?saturation|saturation)", 40, 100),
    (r"(gcs|glasgow.*)", 3, 15),
    (r"(respiratory_?rate|resp_?rate|rr)", 4, 80),
    (r"hba1c", 3, 20),
    (r"(glucose|glucose_?level)", 20, 800),
    (r"(chol|cholesterol)", 50, 700),
    (r"month|monat|mes", 1, 12),
    (r"weekday|day_?of_?week", 1, 7),
    (r"hour", 0, 24),
    (r"(lat|latitude)", -90, 90),
    (r"(lon|lng|longitude)", -180, 180),
    (r"ph(_?value)?", 0, 14),
    (r"(share|fraction|proportion|probability|prob)", 0, 1),
    (r"(percent|percentage|pct|humidity)", 0, 100),
)
_UNITS: tuple[tuple[str, float, float], ...] = (
    (r"%|percent|per ?cent", 0, 100),
    (r"years?|yrs?", 0, 120),
    (r"bpm", 20, 250),
    (r"mm ?hg", 20, 260),
    (r"kg/m(2|²|\^2)", 10, 80),
)


_SUFFIXES = "years?|yrs?|cm|kg|mm_?hg|mg_?dl|bpm|c|celsius|pct|mean|max|min|avg|at_.*"


def suggest_bounds(name: str, unit: str = "") -> Suggestion | None:
    """Public bounds that the name or the unit of a column suggests; None if neither does."""
    plain = name.strip().casefold().replace(" ", "_").replace("-", "_")
    for pattern, low, high in _NAMES:
        if re.fullmatch(rf"(?:.*_)?(?:{pattern})(?:_(?:{_SUFFIXES}))?", plain):
            return Suggestion(low, high, f"name {name!r}")
    for pattern, low, high in _UNITS:
        if re.fullmatch(pattern, unit.strip().casefold()):
            return Suggestion(low, high, f"unit {unit!r}")
    return None


def ask_for_bounds(columns: Iterable[tuple[str, str]]) -> str:
    """A sentence that asks for public bounds of columns, by name and unit; empty if none does."""
    found = [(name, suggest_bounds(name, unit)) for name, unit in columns]
    asked = [(name, one) for name, one in found if one is not None]
    if not asked:
        return ""
    listed = "; ".join(
        f"the {one.why} suggests {name} = {{ low = {one.low:g}, high = {one.high:g} }}"
        for name, one in asked
    )
    return (
        "Public bounds are better than estimated ones, because no client is asked for them. Give "
        f"what you know under [features]: {listed}."
    )
