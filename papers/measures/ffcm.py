"""FFCM: synthetic cases and G2 sets."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fedclust.algorithms import make
from fedclust.core import Plan, Schema, run
from fedclust.datasets import Dataset, ffcm_case1, ffcm_case2, ffcm_case3, g2, iid
from fedclust.metrics import knowledge_gap, normalized_gap, osse, wsse
from fedclust.typing import FloatArray, IntArray, Rng

from .shared import Quantities, channel, coordinates, data_set

REVISION = 2
CASES: Mapping[str, Callable[..., Dataset]] = {"1": ffcm_case1, "2": ffcm_case2, "3": ffcm_case3}
SDS = range(10, 101, 10)
FILES = (2, 4, 8, 16, 32, 64, 128)  # dimensions of the G2 sets that are published as files
IMITATED = (256, 512, 1024)  # drawn like them, because their files are too large to be had


def ffcm(
    seed: int, case: str, key: str, fuzzifier: float = 2.0, rows: tuple[int, ...] | None = None
) -> Quantities:
    """Gap to the nearest true centres, and errors within and outside, as in the authors' code."""
    draw: Any = CASES[case]
    data = draw(rows, seed) if rows else draw(seed)
    k, rng = len(data.centers), np.random.default_rng([seed, 1])
    if key == "central":  # their pooled baseline starts far away, at integers from 400 to 699
        init = rng.integers(400, 700, (k, 2)).astype(float)
        chosen = make("llf-fcm", k, init=init, fuzzifier=fuzzifier, max_rounds=1000)
    else:
        chosen = make(
            key, k, preset="reference", init=rng.random((k, 2)), fuzzifier=fuzzifier, max_rounds=100
        )
    done = run(Plan(chosen, seed=seed), channel(data.X, data.client), Schema(2))
    centers = done.model
    parts = (
        [data.X] if key == "central" else [data.X[data.client == c] for c in np.unique(data.client)]
    )
    gap = knowledge_gap(centers, data.centers, "nearest")
    near = [centers[np.linalg.norm(centers - truth, axis=1).argmin()] for truth in data.centers]
    named = zip(("first", "second", "third"), near, strict=False)
    return {
        **{f"{nth} {axis}": at[a] for nth, at in named for a, axis in enumerate("xy")},
        "gap": gap / k if case == "3" else gap,
        "within": float(np.mean([wsse(part, centers) for part in parts])),
        "outside": float(np.mean([osse(part, centers) for part in parts])),
        "rounds": done.n_rounds,
        **coordinates("center", centers),
    }


def case_rows(case: str, client: int | None = None) -> tuple[FloatArray, IntArray]:
    """Rows and clients of a case, for pictures."""
    data = CASES[case](random_state=0)
    here = np.full(len(data.X), True) if client is None else data.client == client
    return data.X[here], np.asarray(data.client)[here]


def local_centers(seed: int, case: str, client: int | None, fuzzifier: float) -> Quantities:
    """Fuzzy c-means on one client's rows, or on all: the centres, and how far the truth is."""
    data = CASES[case](random_state=seed)
    rows = data.X if client is None else data.X[data.client == client]
    true_centers = np.asarray(data.centers)
    k, rng = len(true_centers), np.random.default_rng([seed, 1])
    init = rows[rng.choice(len(rows), k, replace=False)]
    chosen = make("llf-fcm", k, init=init, fuzzifier=fuzzifier, max_rounds=1000)
    centers = run(Plan(chosen), channel(rows, np.zeros(len(rows))), Schema(2)).model
    missed = [float(np.linalg.norm(centers - truth, axis=1).min()) for truth in true_centers]
    return {"farthest": max(missed), **coordinates("center", centers)}


def g2_sets(seed: int, key: str) -> Quantities:
    """Normalised gaps over the 100 sets: quartiles, and means by sd and by dimension."""
    gaps: dict[tuple[int, int], float] = {}
    outside: dict[tuple[int, int], float] = {}
    for d in (*FILES, *IMITATED):
        for sd in SDS:
            rows, truth = _g2_rows(d, sd, seed), np.array([[500.0] * d, [600.0] * d])
            centers = _cluster_g2(np.random.default_rng([seed, d, sd]), rows, key)
            gaps[d, sd] = normalized_gap(centers, truth)
            outside[d, sd] = osse(rows, centers)
    values = np.array(list(gaps.values()))
    q25, q50, q75 = np.quantile(values, (0.25, 0.5, 0.75))
    by_sd = {f"gap@{sd}": np.mean([gaps[d, sd] for d in (*FILES, *IMITATED)]) for sd in SDS}
    by_d = {f"outside@{d}": np.mean([outside[d, s] for s in SDS]) for d in (*FILES, *IMITATED)}
    spread = {"q25": q25, "q50": q50, "q75": q75, "min": values.min(), "max": values.max()}
    return {**spread, **by_sd, **by_d}


def _g2_rows(d: int, sd: int, seed: int) -> FloatArray:
    if d in IMITATED:
        return g2(d, sd, random_state=seed).X
    rows: FloatArray = data_set("g2").extra[f"g2_{d}_{sd}"].astype(float)
    return rows


def _cluster_g2(rng: Rng, rows: FloatArray, key: str) -> FloatArray:
    """Pooled fuzzy c-means, or an averaging function over ten equal clients, from two rows."""
    init = rows[rng.choice(len(rows), 2, replace=False)]
    if key == "central":
        chosen = make("llf-fcm", 2, init=init, max_rounds=100)
        owner = np.zeros(len(rows), dtype=int)
    else:
        chosen = make(key, 2, preset="reference", init=init, max_rounds=30)
        owner = iid(len(rows), 10, rng)
    centers: FloatArray = run(Plan(chosen), channel(rows, owner), Schema(rows.shape[1])).model
    return centers
