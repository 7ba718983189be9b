"""Flower as it is deployed: a SuperLink over TLS and two SuperNodes that prove who they are."""

import json
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="studies over Flower need fedclust[flower]")
from fedclust.federation.flower_app import write_app
from fedclust.study.file import read_study
from fedclust.study.run import run_study

from .flower_processes import CLIENTS, flower
from .processes import told

STUDY = """
[clients]
north = "north/people.csv"
south = "south/people.csv"
[data]
id = "person"
scaling = "none"
[clustering]
algorithm = "llf-fcm"
n_clusters = 3
init = "k-fed"
max_rounds = 3
tol = 0.0
[features]
height = {}
width = {}
[participation]
min_clients = 2
[outputs]
labels = "csv"
labels_in = "run"
report = false
"""


def test_k_fed_and_three_fuzzy_rounds_find_what_one_process_finds(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    write_app(tmp_path / "app", {"study": str(study), "deadline": 60.0})
    with flower(tmp_path) as made:
        made.superlink()
        for client in CLIENTS:
            made.register(client)
            made.supernode(client)
        ran = made.flwr("run", str(tmp_path / "app"), "here", "--stream")
        assert ran.ends(120) == 0, ran.said()
    run_study(read_study(study), tmp_path / "here")
    there = tmp_path / "study-run"
    assert told(there) == told(tmp_path / "here"), ran.said()
    assert not (there / "incidents.jsonl").exists()
    for client in CLIENTS:
        labels = (tmp_path / client / "labels" / "study.csv").read_text()
        assert labels == (tmp_path / "here" / "labels" / f"{client}.csv").read_text()
        lines = (tmp_path / client / "disclosures.jsonl").read_text().splitlines()
        asked = [json.loads(line) for line in lines]
        assert [line["kind"] for line in asked][:1] == ["look"]
        assert [line.get("round") for line in asked if line.get("plan") == "llf-fcm"] == [0, 1, 2]
        assert sum(line.get("plan") == "k-fed" for line in asked) == 1
