"""The cases of the net: what is run, on which data, with which settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

HARD = ("llf-cm", "fkm", "k-fed", "one-shot", "dwf", "ewf", "robust-cm", "llf-prototypes")
SOFT = ("llf-fcm", "ffcm-avg1", "ffcm-avg2", "ffcf", "gdf-fcm", "c2f-fcm", "llf-mixture")
VERTICAL = ("llf-cm", "llf-fcm")
TIERS = ("none", "paper", "guarded", "secure", "dp", "secure+dp")
MASKED, NOISY = ("secure", "secure+dp"), ("dp", "secure+dp")
STARTS = ("uniform", "client", "careful", "fkm", "k-fed", "one-shot", "cells")
ONE_ROUND = ("k-fed", "one-shot", "ffcf")  # these have no max_rounds
SECRET = "a secret that only the owners know"
N_CLUSTERS = 3
CLIENTS = ("north", "south", "west")
OWNERS: Mapping[str, tuple[str, ...]] = {
    "bank": ("income", "debt"),
    "shop": ("spent",),
    "telecom": ("calls", "minutes"),
}

Sections = Mapping[str, Mapping[str, Any]]
Table = dict[str, list[Any]]  # by column; None is a missing value


@dataclass(frozen=True)
class Case:
    """One run: where it runs, how the data are split, and what differs from the defaults."""

    place: str  # "estimator", "study" (in one process) or "wire" (encoded bytes)
    split: str  # "rows" or "columns"
    algorithm: str
    tier: str = "none"
    variant: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)  # settings, by section for a study

    @property
    def name(self) -> str:
        """The case's key in the recorded file."""
        parts = (self.place, self.split, self.algorithm, self.tier, self.variant)
        return "/".join(part for part in parts if part)

    @property
    def exact(self) -> bool:
        """Whether the bits of the centres are the same on every machine.

        Masked sums are integers, and k-means divides them once. Fuzzy memberships are rounded
        to integers after floating-point arithmetic that differs between machines, and so are
        logarithms.
        """
        masked_k_means = (self.split, self.algorithm, self.tier) == ("rows", "llf-cm", "secure")
        return masked_k_means and "features" not in self.changes


def all_cases() -> list[Case]:
    """Every case, in the order of the recorded file."""
    places = ("study", "wire")
    studies = [case for place in places for case in (*_rows(place), *_columns(place))]
    return [*_estimators(), *studies]


def _estimators() -> Iterator[Case]:
    for algorithm in (*HARD, *SOFT):
        for tier in TIERS:
            yield Case("estimator", "rows", algorithm, tier)
    for start in STARTS:
        yield Case("estimator", "rows", "llf-cm", "none", f"init-{start}", {"init": start})
    sampled = {"sampling": 0.67, "min_clients": 2, "n_init": 3, "max_rounds": 15}
    yield Case("estimator", "rows", "llf-fcm", "none", "sampled", sampled)
    for algorithm in VERTICAL:
        for start in ("k-means++", "records", "partition"):
            yield Case("estimator", "columns", algorithm, "none", f"init-{start}", {"init": start})
    yield Case("estimator", "columns", "llf-cm", "none", "float32", {"message_dtype": "float32"})


# What a study may also say: the algorithm, the tiers, and the keys that are changed.
ROW_VARIANTS: Mapping[str, tuple[str, tuple[str, ...], Sections]] = {
    "until-convergence": ("llf-cm", ("none", "secure"), {"clustering": {"max_rounds": None}}),
    "fill-with-means": ("llf-cm", ("none",), {"data": {"missing": "mean", "scaling": "min-max"}}),
    "fill-with-medians": ("k-fed", ("none",), {"data": {"missing": "median-of-means"}}),
    "unscaled": ("llf-fcm", ("none",), {"data": {"scaling": "none"}}),
    "batches": ("llf-cm", ("none", "secure"), {"data": {"batch_rows": 16}}),
    "without-features": ("llf-cm", ("none",), {"features": {}}),
    "choose-k": ("llf-cm", ("none",), {"clustering": {"n_clusters": "auto", "k_range": [2, 4]}}),
    "best-of-three": ("llf-fcm", ("none",), {"clustering": {"n_init": 3}}),
    "sampled": ("llf-cm", ("none",), {"sampling": {"fraction": 0.67, "min_clients": 2}}),
    "start-in-cells": ("llf-fcm", ("none", "secure"), {"clustering": {"init": "cells"}}),
    "words-and-logarithms": (
        "llf-cm",
        ("none", "secure"),
        {
            "features": {
                "height": {"low": 1, "high": 90, "log": True},
                "width": {"low": 0, "high": 90, "unit": "cm"},
                "colour": {"categories": ["blue", "green", "red"]},
            }
        },
    ),
}
COLUMN_VARIANTS: Mapping[str, Sections] = {
    "init-records": {"clustering": {"init": "records", "n_init": 3}},
    "init-partition": {"clustering": {"init": "partition"}},
    "fill-with-means": {"data": {"missing": "mean"}},
}


def _rows(place: str) -> Iterator[Case]:
    for algorithm in (*HARD, *SOFT):
        for tier in TIERS:
            yield Case(place, "rows", algorithm, tier)
    for variant, (algorithm, tiers, changes) in ROW_VARIANTS.items():
        for tier in tiers:
            yield Case(place, "rows", algorithm, tier, variant, changes)


def _columns(place: str) -> Iterator[Case]:
    for algorithm in VERTICAL:
        for tier in TIERS:
            yield Case(place, "columns", algorithm, tier)
    for variant, changes in COLUMN_VARIANTS.items():
        for tier in ("none", "secure"):
            yield Case(place, "columns", "llf-cm", tier, variant, changes)


def row_tables() -> dict[str, Table]:
    """Each client's table: 60 rows, three clusters, and two missing values."""
    rng = np.random.default_rng(11)
    middles = np.array([[20.0, 40.0], [45.0, 65.0], [60.0, 15.0]])
    tables: dict[str, Table] = {}
    for i, client in enumerate(CLIENTS):
        cluster = rng.choice(3, 60, p=np.roll([0.6, 0.3, 0.1], i))
        values = rng.normal(middles[cluster], 12.0).clip(1, 89).round(3)
        height, width = (column.tolist() for column in values.T)
        height[3], width[17] = None, None
        colours = [("blue", "green", "red")[c] for c in (cluster + rng.integers(0, 2, 60)) % 3]
        ids = [f"{client}{j}" for j in range(60)]
        tables[client] = {"person": ids, "height": height, "width": width, "colour": colours}
    return tables


def column_tables() -> dict[str, Table]:
    """Each owner's table: 55 of 60 records in an order of its own, and one missing value."""
    rng = np.random.default_rng(12)
    middles = rng.normal(0, 2, (3, 5))
    records = (middles[rng.integers(0, 3, 60)] + rng.normal(size=(60, 5))).round(3)
    tables: dict[str, Table] = {}
    start = 0
    for owner, columns in OWNERS.items():
        chosen = rng.permutation(60)[:55]
        tables[owner] = {"person": [f"p{i}" for i in chosen]}
        for at, column in enumerate(columns, start):
            tables[owner][column] = records[chosen, at].tolist()
        tables[owner][columns[0]][7] = None
        start += len(columns)
    return tables


def study_sections(case: Case) -> dict[str, dict[str, Any]]:
    """The study of a case, by section and key."""
    rows = case.split == "rows"
    if rows:
        features = {name: {"low": 0, "high": 90} for name in ("height", "width")}
    else:
        names = [name for columns in OWNERS.values() for name in columns]
        features = {name: {"low": -40, "high": 40} for name in names}
    sections: dict[str, dict[str, Any]] = {
        "clients": {name: f"{name}/people.csv" for name in (CLIENTS if rows else OWNERS)},
        "data": {"split": case.split, "id": "person"},
        "clustering": {
            "algorithm": case.algorithm,
            "n_clusters": N_CLUSTERS,
            "max_rounds": None if case.algorithm in ONE_ROUND or not rows else 5,
            "seed": 5,
        },
        "privacy": {"tier": case.tier, "epsilon": 8.0 if case.tier in NOISY else None},
        "outputs": {"labels": "csv", "labels_in": "run", "report": False},
        "features": features,
    }
    for section, changed in case.changes.items():
        kept = {} if section == "features" else sections.get(section, {})
        sections[section] = {**kept, **changed}
    return {section: keys for section, keys in sections.items() if keys}
