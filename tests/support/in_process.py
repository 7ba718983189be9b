"""Three clients in one process, behind the bytes that a network would carry."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fedclust.channels import RemoteChannel
from fedclust.client.endpoint import ClientEndpoint
from fedclust.core import Data
from fedclust.study.pool import RemotePool
from fedclust.study.run import Outcome, carry_out
from fedclust.study.run_directory import RunDirectory
from fedclust.study.settings import Study
from fedclust.typing import FloatArray

NAMES = ("north", "south", "west")
FEDERATION = {"name": "f", "server": "h", "port": 1, "coordinator": "ana@example.org"}
Spoil = Callable[[int, str, bytes], "bytes | str | list[bytes | str]"]


class InProcess:
    """A transport to sites in this process; `spoil` may do to answers what networks do."""

    def __init__(self, sites: Mapping[str, ClientEndpoint], spoil: Spoil | None = None) -> None:
        self.sites = dict(sites)
        self.spoil = spoil or (lambda number, client, answer: answer)
        self.asked: list[tuple[str, ...]] = []

    def clients(self) -> list[str]:
        return list(self.sites)

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        self.asked.append(tuple(clients))
        for client in reversed(clients):  # the order of replies must not matter
            found = self.spoil(
                len(self.asked), client, self.sites[client].answer(request, "coordinator")
            )
            for answer in found if isinstance(found, list) else [found]:
                yield client, answer


def rows(n: int = 60, seed: int = 0) -> dict[str, FloatArray]:
    """Each client's table: three clusters, of which each client mostly has one."""
    rng = np.random.default_rng(seed)
    centers = np.array([[0.0, 10.0], [5.0, 20.0], [9.0, 2.0]])
    return {
        name: rng.normal(centers[rng.choice(3, n, p=np.roll([0.6, 0.3, 0.1], i))], 1.0)
        for i, name in enumerate(NAMES)
    }


def write_kits(folder: Path, consent: str = "", tables: Any = None) -> dict[str, ClientEndpoint]:
    """A folder for each client, with its file and client.toml; and the sites that answer there."""
    sites: dict[str, ClientEndpoint] = {}
    for name, table in (tables or rows()).items():
        kit = folder / name
        kit.mkdir(parents=True)
        columns = ("height", "width", *(f"more{i}" for i in range(table.shape[1] - 2)))
        lines = [",".join(["person", *columns])]
        lines += [",".join([f"{name}{i}", *map(str, row)]) for i, row in enumerate(table)]
        (kit / "people.csv").write_text("\n".join(lines) + "\n")
        (kit / "client.toml").write_text(
            f'[data]\nfile = "people.csv"\nid = "person"\n[consent]\n{consent}\n'
        )
        sites[name] = ClientEndpoint(kit, name, "s")
    return sites


def reopened(folder: Path, sites: Iterable[str]) -> dict[str, ClientEndpoint]:
    """The same sites after a restart."""
    return {name: ClientEndpoint(folder / name, name, "s") for name in sites}


def run_across(study: Study, remote: RemoteChannel, folder: Path) -> Outcome:
    """The study over clients that only a channel leads to."""
    alone = replace(study, clients={})
    place = RunDirectory(alone, folder, force=False, resume=False)
    return carry_out(alone, RemotePool(remote), place)


def results_of(folder: Path) -> tuple[Any, ...]:
    """What a run says, but for the time, and for comparisons that only one process makes.

    Across machines the id column is each client's own setting, and the model does not know it.
    Clients follow a study, known by its hash, only across machines.
    """
    model = json.loads((folder / "model.json").read_text())
    profile = json.loads((folder / "profile.json").read_text())
    del model["bytes_sent"]  # with the comparisons'
    quality = [{**line, "pooled": None} for line in profile["quality"]]
    return (
        {**model, "created": "", "run_id": "", "id_column": None, "study_hash": ""},
        {**profile, "quality": quality, "phases": None},
        (folder / "history.jsonl").read_text(),
    )


def as_data() -> dict[str, Data]:
    return {name: Data.of(table) for name, table in rows().items()}


def as_they_are(low: float | None = None, high: float | None = None) -> dict[str, Any]:
    """The rows in their own units, with or without public bounds."""
    bounds = {"low": low, "high": high}
    columns: list[dict[str, Any]] = [
        {"name": n, "categories": [], **bounds, "log": False, "unit": ""}
        for n in ("height", "width")
    ]
    scale = {"offset": [0.0, 0.0], "scale": [1.0, 1.0], "fill": None}
    return {"preparation": {"columns": columns, **scale}}


PLAIN = as_they_are()
