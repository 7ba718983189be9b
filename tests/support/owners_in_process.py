"""Three owners of columns in one process, behind the bytes that a network would carry."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fedclust.channels import RemoteChannel
from fedclust.client.endpoint import ClientEndpoint
from fedclust.study.journal import OnRound
from fedclust.study.pool import RemotePool
from fedclust.study.read import read_study
from fedclust.study.run import Outcome, carry_out
from fedclust.study.run_directory import RunDirectory
from fedclust.study.settings import Study
from fedclust.typing import FloatArray

from .in_process import InProcess

OWNERS = {"bank": ("income", "debt"), "shop": ("spent", "visits"), "telecom": ("calls",)}
SECRET = "only the three of us know"
BOUNDS = "".join(
    f"{name} = {{ low = -40, high = 40 }}\n" for names in OWNERS.values() for name in names
)
STUDY = """
[clients]
{files}
[data]
split = "columns"
id = "customer"
{data}
[clustering]
n_clusters = 3
{clustering}
[outputs]
labels = "csv"
labels_in = "run"
report = false
{more}
"""


def records(n: int = 120, seed: int = 0) -> FloatArray:
    """Three clusters over all columns of all owners."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 4, (3, 5))
    rows: FloatArray = centers[rng.integers(0, 3, n)] + rng.normal(size=(n, 5))
    return rows


def write_owners(
    folder: Path,
    consent: str = "split_columns = true",
    data: str = f'secret = "{SECRET}"',
    owners: Mapping[str, tuple[str, ...]] | None = None,
    gap: bool = False,
    people: int = 110,
) -> dict[str, ClientEndpoint]:
    """A folder for each owner, with its file and client.toml; and the sites that answer there."""
    X, at, rng = records(), 0, np.random.default_rng(1)
    for name, columns in (owners or OWNERS).items():
        part, at = X[:, at : at + len(columns)], at + len(columns)
        kit = folder / name
        kit.mkdir(parents=True)
        who = rng.permutation(len(X))[:people]  # other people, in another order
        lines = [",".join(["customer", *columns])]
        lines += [",".join([f"p{i}", *map(repr, part[i].tolist())]) for i in who]
        if gap:
            lines[5] = lines[5].rpartition(",")[0] + ","
        (kit / "people.csv").write_text("\n".join(lines) + "\n")
        (kit / "client.toml").write_text(
            f'[data]\nfile = "people.csv"\nid = "customer"\n{data}\n[consent]\n{consent}\n'
        )
    return reopened(folder, owners or OWNERS)


def reopened(folder: Path, owners: Iterable[str] = OWNERS) -> dict[str, ClientEndpoint]:
    """The same sites after a restart."""
    return {name: ClientEndpoint(folder / name, name, "s") for name in owners}


def write_study(
    folder: Path,
    clustering: str = 'algorithm = "lossless"',
    data: str = "",
    more: str = "",
    owners: Iterable[str] = OWNERS,
) -> Study:
    files = "\n".join(f'{name} = "{name}/people.csv"' for name in owners)
    text = STUDY.format(files=files, clustering=clustering, data=data, more=more)
    (folder / "s.toml").write_text(text)
    return read_study(folder / "s.toml")


NONE = '[privacy]\ntier = "none"\n'
SECURE = f'[privacy]\ntier = "secure"\n[features]\n{BOUNDS}'


def run_across(
    study: Study,
    transport: InProcess,
    folder: Path,
    *,
    resume: bool = False,
    on_round: OnRound | None = None,
) -> Outcome:
    """The study over owners that only a channel leads to."""
    alone = replace(study, clients={})
    remote = RemoteChannel(transport, about={"study": "s"}, quorum=len(study.clients))
    place = RunDirectory(alone, folder, force=False, resume=resume)
    owners = RemotePool(remote, tuple(study.clients))
    return carry_out(alone, owners, place, on_round=on_round)


def results_of(folder: Path) -> tuple[Any, ...]:
    """What a run says, but for the time."""
    model = json.loads((folder / "model.json").read_text())
    profile = json.loads((folder / "profile.json").read_text())
    return {**model, "created": "", "run_id": ""}, profile, (folder / "history.jsonl").read_text()
