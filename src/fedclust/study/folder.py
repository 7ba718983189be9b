"""A run's folder: model, history, the study as it was, and labels for each client."""

import csv
import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..core import AnyAlgorithm, ConfigError, Data, config
from ..core.files import write_text
from ..typing import Array, BoolArray, FloatArray
from .file import Study

if TYPE_CHECKING:
    from .run import Outcome

Applied = Mapping[str, tuple[FloatArray, BoolArray]]  # prepared rows, and which of the file's


def writable(folder: Path, *, force: bool) -> None:
    """Refuse to touch what is there, unless it is asked for and an earlier run left it."""
    if not folder.exists():
        return
    if not force:
        raise ConfigError(f"{folder} is there already; give another --out, or --force")
    if not (folder / "model.json").is_file() or not (folder / "study.toml").is_file():
        raise ConfigError(f"{folder} is not the folder of a run, so --force does not replace it")


def write_folder(
    study: Study, done: "Outcome", applied: Applied, ids: Mapping[str, Array | None]
) -> None:
    """Write all of it beside its place first: whoever looks sees the old folder or the new."""
    folder = done.folder
    scratch, old = (folder.with_name(f".{folder.name}.{end}") for end in ("unfinished", "old"))
    for aside in (scratch, old):
        shutil.rmtree(aside, ignore_errors=True)
    (scratch / "labels").mkdir(parents=True)
    write_text(scratch / "study.toml", study.path.read_text(encoding="utf-8"))
    write_text(scratch / "model.json", json.dumps(_model(study, done), indent=1))
    lines = [json.dumps(asdict(line)) for line in done.clustering.run.history]
    write_text(scratch / "history.jsonl", "\n".join(lines) + "\n")
    for client, (rows, kept) in applied.items():
        text = labels_csv(done.clustering.algorithm, done.centers, rows, kept, ids[client])
        write_text(scratch / "labels" / f"{client}.csv", text)
    if folder.exists():
        folder.rename(old)
    scratch.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _model(study: Study, done: "Outcome") -> dict[str, Any]:
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


def labels_csv(
    algorithm: AnyAlgorithm,
    centers: FloatArray,
    rows: FloatArray,
    kept: BoolArray,
    ids: Array | None,
) -> str:
    """One line per row of the client's file; -1, and no membership, where it was left out."""
    found = algorithm.assign(centers, Data(rows, np.empty(0)))
    labels = np.full(len(kept), -1)
    labels[kept] = found.argmax(axis=1) if algorithm.soft else found
    heads = ["row" if ids is None else "id", "cluster"]
    columns: list[Any] = [range(len(kept)) if ids is None else ids, labels]
    if algorithm.soft:
        for c in range(found.shape[1]):
            member = np.full(len(kept), "", dtype=object)
            member[kept] = [f"{u:.6g}" for u in found[:, c]]
            heads.append(f"membership_{c}")
            columns.append(member)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")  # quotes what needs it: an id may have commas
    writer.writerow(heads)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()
