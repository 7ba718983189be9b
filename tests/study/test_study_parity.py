"""A study across machines is the study in one process, and leaves its traces with the clients."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedclust.channels import RemoteChannel
from fedclust.core import TooFewClients
from fedclust.study.run import run_study

from ..support.in_process import (
    NAMES,
    InProcess,
    reopened,
    results_of,
    run_across,
    write_kits,
)
from ..support.studies import BOUNDS, write_study


@pytest.mark.parametrize(
    ("algorithm", "scaling", "missing", "k"),
    [
        ("llf-fcm", "standard", "drop", "3"),
        ("llf-cm", "min-max", "mean", '"auto"'),
        ("k-fed", "none", "median-of-means", "3"),
    ],
)
def test_a_study_across_machines_is_the_study_in_one_process(
    algorithm: str, scaling: str, missing: str, k: str, tmp_path: Path
) -> None:
    sites = write_kits(tmp_path)
    study = write_study(tmp_path, algorithm, scaling, missing, k)
    run_study(study, tmp_path / "here")
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    run_across(study, remote, tmp_path / "there")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")
    for name in NAMES:
        mine = (tmp_path / name / "labels" / "s.csv").read_text()
        assert mine == (tmp_path / "here" / "labels" / f"{name}.csv").read_text()


def test_clients_read_their_own_files_in_their_own_ways(tmp_path: Path) -> None:
    """Exports of Excel, compressed files and stray words give the numbers of plain files."""
    sites = write_kits(tmp_path)
    study = write_study(tmp_path)
    run_study(study, tmp_path / "here")
    north, south, west = (tmp_path / name for name in NAMES)
    text = (north / "people.csv").read_text()
    german = text.replace(",", ";").replace(".", ",")
    (north / "people.csv").write_bytes(f"# größe\n{german}".encode("cp1252"))
    text = (south / "people.csv").read_text()
    (south / "people.csv.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    (south / "people.csv").unlink()
    (west / "people.csv").write_text("\n\nA report\n" + (west / "people.csv").read_text())
    for kit, line in ((south, 'file = "people.csv.gz"'), (west, "header_line = 4")):
        toml = (kit / "client.toml").read_text()
        old = 'file = "people.csv"' if kit == south else "[data]"
        (kit / "client.toml").write_text(
            toml.replace(old, line if kit == south else f"{old}\n{line}")
        )
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    run_across(study, remote, tmp_path / "there")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")


def test_a_tier_that_client_and_study_agree_on_is_run(tmp_path: Path) -> None:
    sites = write_kits(tmp_path, 'privacy = "paper"')
    study = write_study(tmp_path, scaling="min-max", tier="paper")
    run_study(study, tmp_path / "here")
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    run_across(study, remote, tmp_path / "there")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")


@pytest.mark.parametrize("demanded", ["none", "secure"])
def test_masked_studies_across_machines_are_masked_studies_in_one_process(
    tmp_path: Path, demanded: str
) -> None:
    pytest.importorskip("cryptography")
    sites = write_kits(tmp_path, f'privacy = "{demanded}"')
    settings = {"algorithm": "llf-cm", "scaling": "min-max", "tier": "secure", "more": BOUNDS}
    study = write_study(tmp_path, **settings, n_init=1)
    run_study(study, tmp_path / "here")
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    run_across(study, remote, tmp_path / "there")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")
    ledger = (tmp_path / "west" / "ledger.jsonl").read_text().splitlines()
    assert all(json.loads(line)["event"] for line in ledger)


def test_a_client_can_demand_more_than_the_study_asks(tmp_path: Path) -> None:
    sites = write_kits(tmp_path, 'privacy = "secure"')
    remote = RemoteChannel(InProcess(sites), about={"study": "s"})
    with pytest.raises(TooFewClients, match=r"lacks masks, required by privacy = \"secure\""):
        run_across(write_study(tmp_path), remote, tmp_path / "run")


def test_the_ledger_outlives_runs(tmp_path: Path) -> None:
    """Another seed is another look at the same rows; the ten-starts attack ends at the cap."""
    sites = write_kits(tmp_path, "max_queries = 60")
    study = write_study(tmp_path, algorithm="llf-cm")

    def runs(sites: Any, seeds: range) -> None:
        remote = RemoteChannel(InProcess(sites), about={"study": "s"})
        for seed in seeds:
            again = replace(study, clustering=replace(study.clustering, seed=seed))
            run_across(again, remote, tmp_path / f"run-{seed}")

    with pytest.raises(TooFewClients, match="queries, and the query limit is 60"):
        runs(sites, range(10))
    fresh = reopened(tmp_path, sites)  # a restart forgets nothing
    with pytest.raises(TooFewClients, match="queries, and the query limit is 60"):
        runs(fresh, range(77, 78))


def test_what_leaves_is_on_record_and_holds_no_row(tmp_path: Path) -> None:
    sites = write_kits(tmp_path)
    study = write_study(tmp_path)
    sent: list[bytes] = []

    def listen(number: int, client: str, answer: bytes) -> bytes:
        sent.append(answer)
        return answer

    transport = InProcess(sites, listen)
    remote = RemoteChannel(transport, about={"study": "s"})
    done = run_across(study, remote, tmp_path / "run")
    lines = [
        json.loads(line)
        for name in NAMES
        for line in (tmp_path / name / "disclosures.jsonl").read_text().splitlines()
    ]
    assert len(lines) == len(sent) == len(transport.asked) * len(NAMES)
    assert {line["bytes"] for line in lines} == {len(raw) for raw in sent}
    assert {line["to"] for line in lines} == {"coordinator"}
    assert {line["kind"] for line in lines} == {"preflight", "round", "label"}
    rounds = [line for line in lines if line.get("plan") == "llf-fcm"]
    assert rounds[0]["what"] == {"weight": [3], "total": [3, 2]}
    assert len(rounds) >= done.clustering.run.n_rounds * len(NAMES)
    assert not any(b"north0" in raw for raw in sent)  # no id
