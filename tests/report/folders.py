"""Run folders of any shape, from random rows."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from fedclust.typing import FloatArray, IntArray

HEART = [
    ("age", "years", 54, 9),
    ("resting pressure", "mmHg", 131, 17),
    ("cholesterol", "mg/dl", 246, 52),
    ("peak heart rate", "bpm", 149, 23),
    ("sex=f", "", 0.32, 0.47),
]
STUDY = '[clients]\nnorth = "north.csv"\n\n[clustering]\nalgorithm = "lossless"\nn_clusters = 3\n'
MINIMUM = 5
ROWS = 900  # per cluster


def write_run(
    folder: Path,
    *,
    clusters: int = 3,
    clients: list[str] | None = None,
    columns: int = 5,
    soft: bool = False,
    choice: bool = False,
    drawn: bool = True,
    study: str = "Hearts in four hospitals",
) -> Path:
    """Write the files of a run; all numbers come from one table of random rows."""
    folder.mkdir(parents=True, exist_ok=True)
    names = clients or ["Cleveland", "Budapest", "Zürich", "Long Beach"]
    rng = np.random.default_rng(clusters * 1000 + columns)
    reported = _columns(columns)
    centers = rng.normal(0, 1.3, (clusters, columns))
    labels = np.sort(rng.choice(clusters, ROWS * clusters, p=_shares(clusters)))
    z = centers[labels] + rng.normal(0, 0.7, (len(labels), columns))
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    owner = rng.integers(len(names), size=len(labels))
    units = z * [sd for *_, sd in reported] + [mean for _, _, mean, _ in reported]
    parts: dict[str, Any] = {
        "model.json": _model(reported, z, units, labels, names, soft, study),
        "profile.json": {
            "minimum": MINIMUM,
            "coverage": "all",
            "rounded": False,
            "clients": [_client(name, int((owner == i).sum()), i) for i, name in enumerate(names)],
            "clusters": [
                {
                    "id": c + 1,
                    "size": int((labels == c).sum()),
                    "by_client": _by_client(names, owner[labels == c]),
                    "features": _features(reported, units, labels == c),
                    "entropy": 0.15 + 0.6 * c / clusters if soft else None,
                }
                for c in range(clusters)
            ],
            "map": _map(reported, z, labels) if drawn and columns > 1 else None,
            "quality": _quality(soft),
            "phases": _phases(names, clusters, columns),
            "withheld": {"cells": 0, "rows": 0},
        },
    }
    if choice:
        parts["choice.json"] = _choice(clusters)
    for name, content in parts.items():
        (folder / name).write_text(json.dumps(content))
    (folder / "history.jsonl").write_text(_history(len(names)))
    (folder / "study.toml").write_text(STUDY)
    return folder


def _history(n_clients: int) -> str:
    shifts = [float("nan"), *(2.0 * 0.35**r for r in range(11))]
    lines = [
        {"round": r, "n_clients": n_clients, "shift": s, "bytes_down": 480, "bytes_up": 520}
        for r, s in enumerate(shifts)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def change(folder: Path, name: str, **values: Any) -> Path:
    """Change some top-level values of a JSON file of the run."""
    file = folder / name
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))
    return folder


def _columns(n: int) -> list[tuple[str, str, float, float]]:
    more = [(f"marker {i}", "ng/ml" if i % 3 else "", 10.0 * i, 0.4 * i) for i in range(1, n)]
    return [*HEART, *more][:n]


def _shares(clusters: int) -> FloatArray:
    parts = 1 / np.sqrt(np.arange(1, clusters + 1))
    found: FloatArray = parts / parts.sum()
    return found


def _client(name: str, used: int, place: int) -> dict[str, Any]:
    left_out = 3 * place % 7
    why = "a gap in a feature" if left_out else ""
    return {
        "name": name,
        "rows": used + left_out,
        "used": used,
        "left_out": left_out,
        "why": why,
        "rounds": 12,
    }


def _by_client(names: list[str], owner: IntArray) -> dict[str, int | None]:
    counts = np.bincount(owner, minlength=len(names))
    return {
        name: None if 0 < n < MINIMUM else int(n) for name, n in zip(names, counts, strict=True)
    }


def _features(reported: list[Any], units: FloatArray, own: Any) -> list[dict[str, Any]]:
    found = []
    for place, (name, unit, _, _) in enumerate(reported):
        column = units[:, place]
        mean, sd = float(column.mean()), float(column.std())
        inside = float(column[own].mean())
        if "=" in name:
            inside, mean = (min(max(share, 0.0), 1.0) for share in (inside, mean))
        found.append(
            {
                "name": name,
                "unit": unit,
                "mean": inside,
                "sd": float(column[own].std()),
                "overall_mean": mean,
                "overall_sd": sd,
                "effect": (inside - mean) / sd,
            }
        )
    return found


def _model(
    reported: list[Any],
    z: FloatArray,
    units: FloatArray,
    labels: IntArray,
    names: list[str],
    soft: bool,
    study: str,
) -> dict[str, Any]:
    ids = range(int(labels.max()) + 1)
    key = "llf-fcm" if soft else "llf-cm"
    fuzzifier = 2.0 if soft else None
    return {
        "format": 1,
        "fedclust": "0.1",
        "created": "2026-11-16T10:00:00Z",
        "study": study,
        "algorithm": key,
        "settings": {"n_clusters": len(ids), "tol": 1e-4, "init": "auto", "fuzzifier": fuzzifier},
        "fuzzifier": fuzzifier,
        "na_values": ["NA"],
        "lossless": True,
        "soft": soft,
        "columns": [name for name, *_ in reported],
        "clusters": [
            {
                "id": c + 1,
                "size": int((labels == c).sum()),
                "center": z[labels == c].mean(axis=0).tolist(),
                "center_in_units": units[labels == c].mean(axis=0).tolist(),
            }
            for c in ids
        ],
        "inertia": 812.4,
        "rounds": 12,
        "converged": True,
        "ended_by_tier": False,
        "caveat": "",
        "bytes_sent": {name: 8000 + 130 * i for i, name in enumerate(names)},
        "privacy": {"tier": "none", "guarantee": "The server sees all sums.", "parameters": {}},
        "seed": 0,
        "versions": {"python": "3.11", "numpy": "2.4"},
        "preparation": {
            "columns": _declared(reported),
            "offset": [mean for _, _, mean, _ in reported],
            "scale": [sd for *_, sd in reported],
            "fill": None,
        },
        "matched_run": None,
    }


def _declared(reported: list[Any]) -> list[dict[str, Any]]:
    plain = {"low": None, "high": None, "log": False}
    return [
        {"name": name.split("=")[0], "categories": name.split("=")[1:], "unit": unit, **plain}
        for name, unit, *_ in reported
    ]


def _map(reported: list[Any], z: FloatArray, labels: IntArray) -> dict[str, Any]:
    values, vectors = np.linalg.eigh(np.cov(z.T))
    plane = vectors[:, ::-1][:, :2]
    shown = z @ plane
    edges = [np.linspace(shown[:, d].min(), shown[:, d].max(), 21) for d in (0, 1)]
    cells = np.histogram2d(shown[:, 1], shown[:, 0], bins=[edges[1], edges[0]])[0]
    counts = [[int(n) if n >= MINIMUM else None for n in row] for row in cells]
    return {
        "axes": [
            {
                "share": float(values[-1 - d] / values.sum()),
                "loadings": {t[0]: float(plane[i, d]) for i, t in enumerate(reported)},
            }
            for d in (0, 1)
        ],
        "ellipses": [_ellipse(c, shown[labels == c]) for c in range(int(labels.max()) + 1)],
        "grid": {"x": edges[0].tolist(), "y": edges[1].tolist(), "counts": counts},
    }


def _ellipse(cluster: int, rows: FloatArray) -> dict[str, Any]:
    values, vectors = np.linalg.eigh(np.cov(rows.T))
    return {
        "id": cluster + 1,
        "center": rows.mean(axis=0).tolist(),
        "radii": np.sqrt(values[::-1]).tolist(),
        "angle": float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))),
    }


def _quality(soft: bool) -> list[dict[str, Any]]:
    index = "soft-davies-bouldin" if soft else "davies-bouldin"
    return [
        {"index": "simplified-silhouette", "value": 0.41, "pooled": 0.41, "better": "higher"},
        {"index": index, "value": 0.93, "pooled": None, "better": "lower"},
    ]


def _phases(names: list[str], clusters: int, columns: int) -> list[dict[str, Any]]:
    reported = [
        ("scaling", 2, "counts, sums and squares of every column", 16 * columns),
        ("seeding", 1, "means of neighbourhoods of at least five rows", 8 * clusters * columns),
        ("clustering", 12, "counts and sums of every cluster", 96 * clusters * (columns + 1)),
        ("quality", 1, "two sums for each index", 32),
        ("profile", 2, "counts, sums and squares of every cluster", 16 * clusters * columns),
        ("map", 1, "counts of rows in cells of the map", 4608),
    ]
    return [
        {
            "name": name,
            "rounds": rounds,
            "message": message,
            "bytes_up": {client: size + 4 * i for i, client in enumerate(names)},
        }
        for name, rounds, message, size in reported
    ]


def _choice(best: int) -> dict[str, Any]:
    ks = range(2, max(9, best + 3))
    high = {k: 0.5 - 0.04 * abs(k - best) for k in ks}
    return {
        "recommended": best,
        "weak": False,
        "why": f"Four of six indices favour {best} clusters, and so does stability.",
        "scores": [
            {
                "n_clusters": k,
                "indices": {
                    "inertia": 4000 / k,
                    "simplified-silhouette": high[k],
                    "soft-davies-bouldin": 1.4 - high[k],
                    "xie-beni": 0.9 - high[k],
                    "elbow": None if k == 2 else 0.3 * high[k],
                    "stability": 0.4 + high[k],
                },
            }
            for k in ks
        ],
        "favourites": {"simplified-silhouette": best, "xie-beni": best, "stability": best - 1},
    }
