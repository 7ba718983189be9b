"""Run one case of the net: the only module here that imports fedclust.

A change of names inside fedclust needs a change here and nowhere else in this package.
"""

import csv
import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import fedclust
from fedclust.algorithms import ALGORITHMS
from fedclust.deploy.job import StudyJob
from fedclust.follow.endpoint import FollowingEndpoint
from fedclust.study.read import read_study
from fedclust.study.run import run_study

from .cases import (
    N_CLUSTERS,
    SECRET,
    SOFT,
    Case,
    Sections,
    Table,
    column_tables,
    row_tables,
    study_sections,
)
from .results import Result, bits_of, hash_of

NOISE = "fedclust.privacy.noise.gaussian"  # draws the noise of differential privacy


def registered_algorithms() -> list[str]:
    """The keys of all algorithms over split rows."""
    return list(ALGORITHMS)


def run_case(case: Case, folder: Path) -> Result:
    """The result of a case; that fedclust refuses a combination is a result, too."""
    run = {"estimator": _run_estimator, "study": _run_study, "wire": _run_wire}[case.place]
    with warnings.catch_warnings(), patch(NOISE, _draw_fixed_noise):
        warnings.simplefilter("ignore")  # few rounds, much noise: that is intended here
        try:
            return run(case, folder)
        except fedclust.ConfigError as problem:
            return Result(ended="refused", words=str(problem))


def _draw_fixed_noise(scale: float, n: int) -> Any:
    """The same integers for the same arguments, whichever client draws first."""
    return np.rint(np.random.default_rng(n).normal(0.0, scale, n)).astype(np.int64)


def _run_estimator(case: Case, folder: Path) -> Result:
    return _fit_columns(case) if case.split == "columns" else _fit_rows(case)


def _fit_rows(case: Case) -> Result:
    tables = {
        client: np.array([table["height"], table["width"]], dtype=float).T
        for client, table in row_tables().items()
    }
    complete = {client: X[~np.isnan(X).any(axis=1)] for client, X in tables.items()}
    soft = case.algorithm in SOFT
    kind: Any = fedclust.FederatedFuzzyCMeans if soft else fedclust.FederatedKMeans
    settings = {"algorithm": case.algorithm, "privacy": case.tier, **case.changes}
    if case.algorithm == "llf-mixture":
        kind, settings = fedclust.FederatedMixture, {"privacy": case.tier, **case.changes}
    model = kind(N_CLUSTERS, bounds=(0, 90), random_state=5, **settings).fit(complete)
    return _of_estimator(case, model, model.cluster_centers_)


def _fit_columns(case: Case) -> Result:
    kinds = {"llf-cm": fedclust.VerticalKMeans, "llf-fcm": fedclust.VerticalFuzzyCMeans}
    frames = {owner: _without_missing(table) for owner, table in column_tables().items()}
    model = kinds[case.algorithm](N_CLUSTERS, random_state=5, **case.changes)
    model.fit_frames(frames, "person", secret=SECRET)
    return _of_estimator(case, model, np.hstack([model.centers_of(owner) for owner in frames]))


def _without_missing(table: Table) -> Table:
    rows = [row for row in zip(*table.values(), strict=True) if None not in row]
    return {name: [row[i] for row in rows] for i, name in enumerate(table)}


def _of_estimator(case: Case, model: Any, centers: Any) -> Result:
    labels = model.labels_.tolist()
    return Result(
        centers=centers.tolist(),
        bits=bits_of(centers) if case.exact else None,
        labels=hash_of(map(str, labels)),
        inertia=None if np.isnan(model.inertia_) else float(model.inertia_),
        rounds=model.n_rounds_,
        sizes=[labels.count(c) for c in range(N_CLUSTERS)],
        bytes_sent=model.bytes_sent_,
    )


def _run_study(case: Case, folder: Path) -> Result:
    study = read_study(_write_study(case, folder))  # raises ConfigError if it is refused
    try:
        if case.split == "columns":
            run_study(study, folder / "run", secret=SECRET)
        else:
            run_study(study, folder / "run")
    except fedclust.FedclustError as problem:
        return Result(ended="failed", words=str(problem))
    return _of_run(case, folder)


class InProcess:
    """A transport to sites in this process that counts the bytes of their answers."""

    def __init__(self, sites: dict[str, FollowingEndpoint]) -> None:
        self.sites = sites
        self.sent = dict.fromkeys(sites, 0)

    def clients(self) -> list[str]:
        return list(self.sites)

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        for client in clients:
            answer = self.sites[client].answer(request, "coordinator")
            self.sent[client] += len(answer)
            yield client, answer


def _run_wire(case: Case, folder: Path) -> Result:
    path = _write_study(case, folder)
    study = read_study(path)  # raises ConfigError if it is refused
    transport = InProcess(
        {name: FollowingEndpoint(folder / name, name, path.stem) for name in study.clients}
    )
    work = folder / "work"
    work.mkdir()
    run = StudyJob(str(path), str(folder / "run"), str(work), "net", 60.0, False, False)
    run.run(transport, tuple(study.clients))
    outcome = json.loads((work / "outcome.json").read_text())
    if not outcome["done"]:
        return Result(ended="failed", words=outcome["error"])
    return _of_run(case, folder, transport.sent)


def _write_study(case: Case, folder: Path) -> Path:
    """The study's file, and for each client a folder with its data and client.toml."""
    sections = study_sections(case)
    tables = row_tables() if case.split == "rows" else column_tables()
    for name, table in tables.items():
        (folder / name).mkdir()
        with open(folder / name / "people.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*table.values(), strict=True))
        (folder / name / "client.toml").write_text(_as_toml(_client_sections(case)))
    (folder / "s.toml").write_text(_as_toml(sections))
    return folder / "s.toml"


def _client_sections(case: Case) -> Sections:
    data = {"file": "people.csv", "id": "person"}
    if case.split == "columns":
        return {"data": {**data, "secret": SECRET}, "consent": {"split_columns": True}}
    return {"data": {**data, "batch_rows": case.changes.get("data", {}).get("batch_rows")}}


def _as_toml(sections: Sections) -> str:
    lines = []
    for section, keys in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {_toml_value(v)}" for key, v in keys.items() if v is not None]
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{k} = {_toml_value(v)}' for k, v in value.items())} }}"
    return json.dumps(value)


def _of_run(case: Case, folder: Path, wire_bytes: dict[str, int] | None = None) -> Result:
    """The result that a run has left in its folder and with its clients."""
    model = json.loads((folder / "run" / "model.json").read_text())
    names = list(column_tables()) if case.split == "columns" else list(row_tables())
    labels = {name: _labels_at(case, folder, name) for name in names}
    owned = [labels[name].with_suffix(".centers.json") for name in names]
    columns = case.split == "columns"  # then each owner has its part of the centres
    models = [json.loads(path.read_text()) for path in owned] if columns else [model]
    centers = np.hstack([[c["center"] for c in part["clusters"]] for part in models])
    return Result(
        centers=centers.tolist(),
        bits=bits_of(centers) if case.exact else None,
        labels=hash_of(line for name in names for line in _labels_in(labels[name])),
        inertia=model["inertia"],
        rounds=model["rounds"],
        sizes=[cluster["size"] for cluster in model["clusters"]],
        bytes_sent=model["bytes_sent"],
        wire_bytes=wire_bytes,
        files=list(_files_written(folder, names)),
    )


def _labels_at(case: Case, folder: Path, name: str) -> Path:
    if case.place == "wire":
        (path,) = (folder / name / "labels").glob("*.csv")
        return path
    return folder / "run" / "labels" / f"{name}.csv"


def _labels_in(path: Path) -> Iterator[str]:
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            yield f"{row['person']} {row['cluster']}"


def _files_written(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """Files of the run's folder and those that clients wrote, relative to the study."""
    given = {f"{name}/{file}" for name in names for file in ("people.csv", "client.toml")}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if name not in given and name != "s.toml" and not name.startswith("work/"):
            yield name
