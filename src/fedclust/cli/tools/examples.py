"""Example studies: public data whose rows have natural owners, one file per owner."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...core.files import write_text
from ...datasets import load
from ...typing import FloatArray

_PENGUINS = """
[clustering]
algorithm = "lossless"
n_clusters = 3

[data]
id = "bird"

[features]
{features}

[study]
title = "Penguins of three islands"
"""

_HEART = """
[clustering]
algorithm = "lossless"
n_clusters = 2
n_init = 5

[data]
id = "patient"
missing = "partial"              # use the values that patients have

[features]
age = { unit = "years", low = 0, high = 120 }
sex = { categories = ["female", "male"] }
cp = { categories = ["typical angina", "atypical angina", "other pain", "no pain"] }
trestbps = { unit = "mmHg" }
chol = { unit = "mg/dl" }
fbs = { categories = ["to 120 mg/dl", "above 120 mg/dl"] }
restecg = { categories = ["normal", "ST-T abnormality", "hypertrophy"] }
thalach = { unit = "beats per minute" }
exang = { categories = ["no", "yes"] }
oldpeak = { unit = "mm" }
slope = {}                       # 1 rising, 2 flat, 3 falling
ca = { unit = "vessels" }
thal = { categories = ["normal", "fixed defect", "reversible defect"] }

[study]
title = "Chest pain in four hospitals"   # of the report
"""

_WHOLESALE = """
[clustering]
algorithm = "lossless"
n_clusters = "auto"

[features]                       # spending is skewed, so use its logarithm
{logs}

[study]
title = "Customers of a wholesaler"
"""

_CATEGORIES: Mapping[str, Mapping[str, Mapping[float, str]]] = {
    "heart_disease": {
        "sex": {0: "female", 1: "male"},
        "cp": {1: "typical angina", 2: "atypical angina", 3: "other pain", 4: "no pain"},
        "fbs": {0: "to 120 mg/dl", 1: "above 120 mg/dl"},
        "restecg": {0: "normal", 1: "ST-T abnormality", 2: "hypertrophy"},
        "exang": {0: "no", 1: "yes"},
        "thal": {3: "normal", 6: "fixed defect", 7: "reversible defect"},
    }
}


@dataclass(frozen=True)
class _Example:
    study: str
    id: str


EXAMPLES: Mapping[str, _Example] = {
    "penguins": _Example(_PENGUINS, "bird"),
    "heart_disease": _Example(_HEART, "patient"),
    "wholesale_customers": _Example(_WHOLESALE, "customer"),
}


def write_example(name: str, folder: Path) -> None:
    """Write one CSV file per owner, with its missing values, and a study file."""
    chosen, data = EXAMPLES[name], load(name)
    assert data.client is not None  # noqa: S101  (every example has natural owners)
    owners = [str(owner) for owner in data.client_names] or [
        f"region {c}" for c in np.unique(data.client)
    ]
    folder.mkdir(parents=True)
    files = {owner: f"{owner.lower().replace(' ', '-')}.csv" for owner in owners}
    for number, (owner, file) in enumerate(files.items()):
        rows = data.X[data.client == np.unique(data.client)[number]]
        write_text(folder / file, _csv(name, chosen.id, owner, data.feature_names, rows))
    clients = "\n".join(f'"{owner}" = "{file}"' for owner, file in files.items())
    study = chosen.study.replace("{features}", "\n".join(f"{f} = {{}}" for f in data.feature_names))
    logs = "\n".join(f"{f} = {{ log = true }}" for f in data.feature_names)
    study = study.replace("{logs}", logs)
    write_text(folder / "study.toml", f"[clients]\n{clients}\n{study}")


def _csv(name: str, id: str, owner: str, columns: tuple[str, ...], rows: FloatArray) -> str:
    categories = _CATEGORIES.get(name, {})
    lines = [",".join([id, *columns])]
    for number, row in enumerate(rows):
        cells = [
            "" if np.isnan(v) else categories.get(column, {}).get(float(v), f"{v:g}")
            for column, v in zip(columns, row, strict=True)
        ]
        lines.append(",".join([f"{owner[:2].upper()}{number:04d}", *cells]))
    return "\n".join(lines) + "\n"
