"""FFCM: synthetic cases and G2 sets."""

from typing import Any

import numpy as np

from fedclust.algorithms import make
from fedclust.core import Plan, Schema, run
from fedclust.datasets import ffcm_case1, ffcm_case2, ffcm_case3, iid
from fedclust.metrics import knowledge_gap, normalized_gap, osse, wsse

from .shared import Quantities, channel, data_set

CASES = {"1": ffcm_case1, "2": ffcm_case2, "3": ffcm_case3}


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
    third = centers[np.linalg.norm(centers - data.centers[2], axis=1).argmin()]
    return {
        "third x": third[0],
        "third y": third[1],
        "gap": gap / k if case == "3" else gap,
        "within": float(np.mean([wsse(part, centers) for part in parts])),
        "outside": float(np.mean([osse(part, centers) for part in parts])),
        "rounds": done.n_rounds,
    }


def g2_sets(seed: int, key: str) -> Quantities:
    """Normalised gaps over the 70 sets of two or more dimensions: quartiles, and by sd and d."""
    sets, gaps, outside = data_set("g2").extra, {}, {}
    for name, X in sets.items():
        _, d, sd = name.split("_")
        if int(d) < 2:
            continue
        rng = np.random.default_rng([seed, int(d), int(sd)])
        rows, truth = X.astype(float), np.array([[500.0] * int(d), [600.0] * int(d)])
        init = rows[rng.choice(len(rows), 2, replace=False)]
        owner = np.zeros(len(rows)) if key == "central" else iid(len(rows), 10, rng)
        chosen = (
            make("llf-fcm", 2, init=init, max_rounds=100)
            if key == "central"
            else make(key, 2, preset="reference", init=init, max_rounds=30)
        )
        centers = run(Plan(chosen, seed=seed), channel(rows, owner), Schema(int(d))).model
        gaps[int(d), int(sd)] = normalized_gap(centers, truth)
        outside[int(d), int(sd)] = osse(rows, centers)
    values = np.array(list(gaps.values()))
    quantities = dict(
        zip(("q25", "q50", "q75"), np.quantile(values, (0.25, 0.5, 0.75)), strict=True)
    )
    quantities |= {"min": values.min(), "max": values.max()}
    for at_sd in sorted({s for _, s in gaps}):
        quantities[f"gap@{at_sd}"] = np.mean([g for (_, s), g in gaps.items() if s == at_sd])
    for at_d in sorted({d for d, _ in gaps}):
        quantities[f"outside@{at_d}"] = np.mean([o for (d, _), o in outside.items() if d == at_d])
    return quantities
