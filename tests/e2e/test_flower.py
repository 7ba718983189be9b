"""A deployed Flower federation: a SuperLink over TLS and two authenticated SuperNodes."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="studies over Flower need fedclust[flower]")
from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Schema, run
from fedclust.deploy.flower.folder import write_app
from fedclust.study.read import read_study
from fedclust.study.run import run_study

from .flower_processes import CLIENTS, Flower, flower
from .processes import results_of

# An app that runs only two plans: a study sends ten times more requests, each of which is slow.
PLANS = """
import numpy as np

from fedclust.algorithms import make
from fedclust.channels import RemoteChannel
from fedclust.channels.flower.server import server_app
from fedclust.core import Plan, Schema, run


def plans(transport, config):
    transport.wait(2, 300.0, 0.0)
    remote = RemoteChannel(transport, about={"study": "plans"}, deadline=300.0, quorum=2)
    columns = [{"name": n, "categories": []} for n in ("height", "width")]
    plain = {"offset": [0.0, 0.0], "scale": [1.0, 1.0], "fill": None, "columns": columns}
    channel = remote.over({"preparation": plain}, Schema(2))
    first = run(Plan(make("k-fed", 3), seed=1), channel, Schema(2))
    fuzzy = make("llf-fcm", 3, init=first.model, max_rounds=3, tol=0.0)
    second = run(Plan(fuzzy, seed=1), channel, Schema(2))
    np.savez(config["out"], k_fed=first.model, fuzzy=second.model)


server = server_app(plans)
"""


def write_plans(folder: Path, out: Path) -> None:
    write_app(folder, {"study": "/none", "out": str(out)})
    (folder / "plans.py").write_text(PLANS)
    project = folder / "pyproject.toml"
    text = project.read_text()
    project.write_text(text.replace("fedclust.deploy.flower.server:app", "plans:server"))


def here(made: Flower) -> tuple[np.ndarray, np.ndarray]:
    """The same plans in this process."""
    channel = LocalChannel({name: Data.of(table) for name, table in made.tables.items()})
    first = run(Plan(make("k-fed", 3), seed=1), channel, Schema(2))
    fuzzy = make("llf-fcm", 3, init=first.model, max_rounds=3, tol=0.0)
    return first.model, run(Plan(fuzzy, seed=1), channel, Schema(2)).model


def test_k_fed_and_three_fuzzy_rounds_find_what_one_process_finds(tmp_path: Path) -> None:
    write_plans(tmp_path / "app", tmp_path / "found.npz")
    with flower(tmp_path) as made:
        made.start()
        said = made.run(tmp_path / "app", 600)
    assert said.count("2 of 2 answered") == 4, said
    found = np.load(tmp_path / "found.npz")
    assert (found["k_fed"].tobytes(), found["fuzzy"].tobytes()) == tuple(
        centers.tobytes() for centers in here(made)
    )
    for client in CLIENTS:
        lines = (tmp_path / client / "disclosures.jsonl").read_text().splitlines()
        assert [json.loads(line)["plan"] for line in lines] == ["k-fed", *["llf-fcm"] * 3]


STUDY = """
[clients]
north = "north/people.csv"
south = "south/people.csv"
[clustering]
algorithm = "llf-fcm"
init = "k-fed"
max_rounds = 3
n_clusters = 3
[sampling]
min_clients = 2
[privacy]
tier = "none"
"""
HERE = """
[data]
id = "person"
[outputs]
labels = "csv"
labels_in = "run"
"""


@pytest.mark.e2e
def test_a_study_is_the_study_in_one_process(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    write_app(tmp_path / "app", {"study": str(study)})
    with flower(tmp_path) as made:
        made.start()
        made.run(tmp_path / "app", 240)
    study.write_text(STUDY + HERE)
    run_study(read_study(study), tmp_path / "here")
    there = tmp_path / "study-run"
    assert results_of(there) == results_of(tmp_path / "here")
    assert (there / "report.html").stat().st_size > 10_000
    assert not (there / "incidents.jsonl").exists()
    for client in CLIENTS:
        (labels,) = (tmp_path / client / "labels").glob("study-*.csv")
        assert labels.read_text() == (tmp_path / "here" / "labels" / f"{client}.csv").read_text()


@pytest.mark.e2e
def test_a_study_in_flowers_simulation_is_the_study_in_one_process(tmp_path: Path) -> None:
    """One process per message, as in a deployment, and one folder per client."""
    pytest.importorskip("ray", reason="Flower's simulation needs flwr[simulation]")
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    with flower(tmp_path) as made:
        kits = tmp_path / "kits"
        kits.mkdir()
        for client in CLIENTS:
            (tmp_path / client).rename(kits / client)
        write_app(tmp_path / "app", {"study": str(study), "kits": str(kits), "min_clients": 2})
        made.superlink("--simulation")
        size = f"num-supernodes={len(CLIENTS)}"
        made.run(tmp_path / "app", 240, "--federation-config", size)
        for client in CLIENTS:
            (kits / client).rename(tmp_path / client)
    study.write_text(STUDY + HERE)
    run_study(read_study(study), tmp_path / "here")
    assert results_of(tmp_path / "study-run") == results_of(tmp_path / "here")
