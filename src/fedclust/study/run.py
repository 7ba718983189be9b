"""Run a study in one process: prepare, cluster, and leave labels with each client's rows."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from .. import __version__
from ..algorithms import make
from ..chain import Clustering, cluster
from ..channels import LocalChannel
from ..core import AnyAlgorithm, ConfigError, Data, DataError, Participation, Schema, config
from ..core.checkpoint import write_atomically
from ..preprocessing import Preparation, prepare
from ..typing import Array, BoolArray, FloatArray, IntArray
from .file import Study
from .preflight import examine
from .tables import read_table


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a study found; clusters are numbered by size, the largest first."""

    folder: Path
    preparation: Preparation
    centers: FloatArray  # (C, P) as they were clustered
    sizes: IntArray  # (C,) rows of all clients
    clustering: Clustering

    @property
    def in_units(self) -> FloatArray:
        """Centres in the columns' own units."""
        return self.preparation.in_units(self.centers)


def run_study(study: Study, folder: Path, *, force: bool = False) -> Outcome:
    """Run the study and write its folder, whole or not at all."""
    if folder.exists() and not force:
        raise ConfigError(f"{folder} is there already; give another --out, or --force")
    seen = examine(study)
    if not seen.passes:
        stops = [p for p in seen.problems if p.stops]
        first = stops[0]
        raise DataError(
            f"{len(stops)} problems stop this study, the first: client {first.client!r}, "
            f"{first.column or 'its file'}: {first.what}; fedclust check lists them all"
        )
    tables = {c: read_table(study.files(c), study.data["gaps"]) for c in study.clients}
    ready = prepare(
        seen.columns, tables, scaling=study.data["scaling"], missing=study.data["missing"]
    )
    applied = {c: ready.apply(table, f"client {c!r}") for c, table in tables.items()}
    found = cluster(
        _algorithm(study),
        LocalChannel({c: rows for c, (rows, _) in applied.items()}),
        Schema(len(ready.names)),
        init=study.clustering["init"],
        n_init=study.clustering["n_init"],
        privacy=study.privacy["tier"],
        participation=Participation(**study.participation),
        seed=study.clustering["seed"],
    )
    order, sizes = _by_size(found, [rows for rows, _ in applied.values()])
    done = Outcome(folder, ready, found.centers[order], sizes, found)
    _write(study, done, applied, tables)
    return done


def _algorithm(study: Study) -> AnyAlgorithm:
    asked = dict(study.clustering)
    key = asked["algorithm"]
    if key == "lossless":
        key = "llf-fcm" if asked["fuzzy"] else "llf-cm"
    chosen = make(key, asked["n_clusters"])
    if asked["fuzzy"] != chosen.soft and asked["algorithm"] != "lossless" and asked["fuzzy"]:
        raise ConfigError(f"{study.path}: fuzzy = true, but {key} finds labels, not memberships")
    changes = {n: asked[n] for n in ("max_rounds", "tol") if asked[n] is not None}
    for name in changes:
        if name not in vars(chosen):
            raise ConfigError(f"{study.path}: {name} has no meaning for {key}")
    if chosen.soft:
        changes["fuzzifier"] = asked["fuzzifier"]
    return cast(AnyAlgorithm, replace(cast(Any, chosen), **changes))


def _by_size(found: Clustering, tables: list[FloatArray]) -> tuple[IntArray, IntArray]:
    """Clusters from the largest to the smallest: a name that does not depend on the seed."""
    k = len(found.centers)
    labels = [_labels(found.algorithm, found.centers, rows) for rows in tables]
    sizes = np.bincount(np.concatenate(labels), minlength=k)
    order = np.argsort(-sizes, kind="stable")
    return order, sizes[order]


def _labels(algorithm: AnyAlgorithm, centers: FloatArray, rows: FloatArray) -> IntArray:
    found = algorithm.assign(centers, Data(rows, np.empty(0)))
    return np.asarray(found.argmax(axis=1) if algorithm.soft else found)


def _write(
    study: Study,
    done: Outcome,
    applied: Mapping[str, tuple[FloatArray, BoolArray]],
    tables: Mapping[str, Mapping[str, Array]],
) -> None:
    scratch = done.folder.with_name(f".{done.folder.name}.unfinished")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    (scratch / "study.toml").write_text(study.path.read_text(encoding="utf-8"), encoding="utf-8")
    _text(scratch / "model.json", json.dumps(_model(study, done), indent=1))
    lines = [json.dumps(asdict(line)) for line in done.clustering.run.history]
    _text(scratch / "history.jsonl", "\n".join(lines) + "\n")
    for client, (rows, kept) in applied.items():
        ids = tables[client].get(study.data["id"]) if study.data["id"] else None
        text = _label_file(done, rows, kept, ids)
        _text(scratch / "labels" / f"{client}.csv", text)
    if done.folder.exists():
        shutil.rmtree(done.folder)
    scratch.rename(done.folder)


def _model(study: Study, done: Outcome) -> dict[str, Any]:
    return {
        "format": 1,
        "fedclust": __version__,
        "algorithm": {**config(done.clustering.algorithm), "init": None},
        "preparation": done.preparation.as_config(),
        "centers": done.centers.tolist(),
        "centers_in_units": done.in_units.tolist(),
        "columns": done.preparation.names,
        "sizes": done.sizes.tolist(),
        "inertia": done.clustering.inertia,
        "rounds": done.clustering.run.n_rounds,
        "bytes_sent": dict(done.clustering.sent),
        "privacy": study.privacy["tier"],
        "seed": study.clustering["seed"],
    }


def _label_file(done: Outcome, rows: FloatArray, kept: BoolArray, ids: Array | None) -> str:
    """One line per row of the client's file; -1, and no membership, where it was left out."""
    algorithm = done.clustering.algorithm
    found = algorithm.assign(done.centers, Data(rows, np.empty(0)))
    labels = np.full(len(kept), -1)
    labels[kept] = found.argmax(axis=1) if algorithm.soft else found
    heads = ["row" if ids is None else "id", "cluster"]
    first = np.arange(len(kept)) if ids is None else ids
    columns = [first.astype(str), labels.astype(str)]
    if algorithm.soft:
        for c in range(found.shape[1]):
            member = np.full(len(kept), "", dtype=object)
            member[kept] = [f"{u:.6g}" for u in found[:, c]]
            heads.append(f"membership_{c}")
            columns.append(member)
    lines = [",".join(heads), *(",".join(line) for line in zip(*columns, strict=True))]
    return "\n".join(lines) + "\n"


def _text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: _put(file, text))


def _put(file: Any, text: str) -> None:
    file.write(text.encode())
