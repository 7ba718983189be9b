"""Run a study in one process: prepare, cluster, and leave labels with each client's rows."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..algorithms import make
from ..chain import Clustering, cluster
from ..channels import LocalChannel
from ..core import AnyAlgorithm, ConfigError, Data, DataError, Participation, Schema
from ..preprocessing import Preparation, prepare
from ..typing import FloatArray, IntArray
from .file import Study
from .folder import writable, write_folder
from .preflight import Examination, examine


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
    writable(folder, force=force)
    algorithm = algorithm_of(study)
    seen = examine(study)
    _refuse(seen)
    tables = seen.tables
    ready = prepare(
        seen.columns,
        tables,
        scaling=study.data["scaling"],
        missing=study.data["missing"],
        privacy=study.privacy["tier"],
    )
    applied = {c: ready.apply(table, f"client {c!r}") for c, table in tables.items()}
    n_rows = sum(len(rows) for rows, _ in applied.values())
    if n_rows < algorithm.n_clusters:
        raise DataError(
            f"{n_rows} rows without gaps cannot make n_clusters = {algorithm.n_clusters}; choose "
            'fewer clusters, or missing = "mean"'
        )
    found = cluster(
        algorithm,
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
    id = study.data["id"]
    write_folder(study, done, applied, {c: t[id] if id else None for c, t in tables.items()})
    return done


def _refuse(seen: Examination) -> None:
    stops = [problem for problem in seen.problems if problem.stops]
    if stops:
        first, others = stops[0], len(stops) - 1
        more = f" (and {others} more: fedclust check lists them all)" if others else ""
        place = f"column {first.column!r}: " if first.column else ""
        raise DataError(f"client {first.client!r}: {place}{first.what}{more}")


def algorithm_of(study: Study) -> AnyAlgorithm:
    """The algorithm with all that the study says of it; nothing is taken and ignored."""
    asked = study.clustering
    key = asked["algorithm"]
    if key == "lossless":
        key = "llf-fcm" if asked["fuzzy"] else "llf-cm"
    chosen = make(key, asked["n_clusters"])
    if asked["fuzzy"] and not chosen.soft:
        raise ConfigError(f"{study.path}: fuzzy = true, but {key} finds labels, not memberships")
    names = ("max_rounds", "tol", "fuzzifier")
    changes = {name: asked[name] for name in names if asked[name] is not None}
    for name in changes:
        if name not in vars(chosen):
            raise ConfigError(f"{study.path}: {name} has no meaning for {key}")
    return cast(AnyAlgorithm, replace(cast(Any, chosen), **changes))


def _by_size(found: Clustering, tables: list[FloatArray]) -> tuple[IntArray, IntArray]:
    """Clusters from the largest to the smallest: a name that does not depend on the seed."""
    labels = [_labels(found, rows) for rows in tables]
    sizes = np.bincount(np.concatenate(labels), minlength=len(found.centers))
    order = np.argsort(-sizes, kind="stable")
    return order, sizes[order]


def _labels(found: Clustering, rows: FloatArray) -> IntArray:
    assigned = found.algorithm.assign(found.centers, Data(rows, np.empty(0)))
    return np.asarray(assigned.argmax(axis=1) if found.algorithm.soft else assigned)
