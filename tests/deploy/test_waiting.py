"""The coordinator's side of an approval: who is waited for, and what happens in vain."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.core import FedclustError
from fedclust.deploy.coordinator import run_federated
from fedclust.deploy.quorum import RunOptions
from fedclust.deploy.status import read_progress
from fedclust.follow.approval import read_mailed_study, study_hash
from fedclust.follow.decisions import Approvals
from fedclust.follow.endpoint import FollowingEndpoint

from ..support.in_process import results_of
from ..support.pretended import STUDY, Pretended, run, study

pytest.importorskip("nvflare", reason="the pretended parts replace those of NVFlare")
pytest.importorskip("cryptography")

BOUNDS = "[features]\nheight = { low = -90, high = 90 }\nwidth = { low = -90, high = 90 }\n"
MASKED = STUDY.replace('tier = "none"', 'tier = "secure"') + BOUNDS


def let_ask(tmp_path: Path, server: Pretended, *clients: str) -> None:
    for name in clients:
        kit = tmp_path / "sites" / name
        with open(kit / "client.toml", "a") as file:
            file.write('approval = "ask"\n')
        server.transport.sites[name] = FollowingEndpoint(kit, name, "s")


def hash_of(tmp_path: Path) -> str:
    return study_hash(read_mailed_study(tmp_path / "s.toml"))


def decide(tmp_path: Path, client: str, *, approved: bool = True) -> None:
    Approvals(tmp_path / "sites" / client).decide("s", hash_of(tmp_path), approved=approved)


def test_the_coordinator_reads_whose_approval_is_missing(server: Pretended, tmp_path: Path) -> None:
    """Without an incident: the owner decides in time."""
    let_ask(tmp_path, server, "west")
    said: list[dict[str, Any]] = []
    admin = tmp_path / "kits" / "admin"
    phases = []

    def on_message(line: dict[str, Any]) -> None:
        said.append(line)
        if line.get("waiting"):
            phases.append(read_progress(admin))
            threading.Timer(0.3, decide, (tmp_path, "west")).start()

    options = RunOptions(deadline=5.0, wait=60.0, grace=0.0, attempts=1)
    kits, out = tmp_path / "kits", tmp_path / "run"
    place = (study(tmp_path, MASKED), kits, out, options, on_message)
    run_federated(*place, resume=False, force=False)
    hash = hash_of(tmp_path)
    words = [line["message"] for line in said if "message" in line]
    assert f"study 's', hash {hash}: the owner of each client can compare it" in words
    assert [line["waiting"] for line in said if "waiting" in line] == [["west"], []]
    assert phases == [{"study": "s", "phase": "waiting for the approval of west"}]
    assert not (out / "incidents.jsonl").exists()
    assert json.loads((out / "model.json").read_text())["study_hash"] == hash


def test_too_few_approvals_end_in_a_sentence_and_the_run_resumes(
    server: Pretended, tmp_path: Path
) -> None:
    let_ask(tmp_path, server, "west")
    with pytest.raises(FedclustError) as ended:
        run(tmp_path, MASKED)
    assert str(ended.value) == (
        "2 clients follow the study, 3 needed; west: its owner has not approved the study within "
        "0.5 s, with 'fedclust approve KIT' at that client; then run the same command with --resume"
    )
    assert len(server.jobs) == 1
    first = server.jobs[0]["run"]
    decide(tmp_path, "west")
    run(tmp_path, MASKED, resume=True)
    assert [job["run"] for job in server.jobs] == [first, first]
    there = results_of(tmp_path / "run")
    run(tmp_path, MASKED, force=True)
    assert results_of(tmp_path / "run") == there


def test_the_run_goes_on_without_an_owner_who_does_not_decide(
    server: Pretended, tmp_path: Path
) -> None:
    tier = MASKED.replace('tier = "secure"', 'tier = "dp"\nepsilon = 5.0')
    pytest.importorskip("opendp")
    let_ask(tmp_path, server, "west")
    run(tmp_path, tier)
    profile = json.loads((tmp_path / "run" / "profile.json").read_text())
    assert [client["name"] for client in profile["clients"]] == ["north", "south"]
    (incident,) = (tmp_path / "run" / "incidents.jsonl").read_text().splitlines()
    assert json.loads(incident)["client"] == "west"
    assert "has not approved the study within 0.5 s" in json.loads(incident)["what"]


def test_a_refusal_ends_the_study_at_once(server: Pretended, tmp_path: Path) -> None:
    let_ask(tmp_path, server, "west")
    study(tmp_path, MASKED)
    decide(tmp_path, "west", approved=False)
    with pytest.raises(FedclustError, match="west: refused: its owner has refused this study$"):
        run(tmp_path, MASKED)
    assert len(server.jobs) == 1


def test_a_study_that_clients_cannot_follow_is_announced_as_such(
    server: Pretended, tmp_path: Path
) -> None:
    words = [line.get("message", "") for line in run(tmp_path)]
    assert any("clients cannot follow the study 's' with tier 'none'" in text for text in words)
    assert json.loads((tmp_path / "run" / "model.json").read_text())["study_hash"] == ""
    let_ask(tmp_path, server, "west")
    run(tmp_path, force=True)
    log = (tmp_path / "run" / "incidents.jsonl").read_text()
    assert "its owner approves every study, and this study cannot be approved" in log


def test_the_command_shows_hash_and_wait_and_the_report_the_hash(
    server: Pretended, tmp_path: Path
) -> None:
    pytest.importorskip("jinja2")
    let_ask(tmp_path, server, "west")
    (tmp_path / "s.toml").write_text(MASKED.replace("report = false", "report = true"))
    words = ["server", str(tmp_path / "s.toml"), "--kits", str(tmp_path / "kits"), "--grace", "0"]
    words += ["--out", str(tmp_path / "run")]
    in_vain = CliRunner().invoke(app, [*words, "--wait", "0.5"])
    assert in_vain.exit_code == 1
    hash = hash_of(tmp_path)
    assert f"hash {hash}" in in_vain.output
    assert "waiting for the approval of west" in in_vain.output
    assert "run the same command with --resume" in in_vain.output
    decide(tmp_path, "west")
    done = CliRunner().invoke(app, [*words, "--resume"])
    assert done.exit_code == 0, done.output
    report = (tmp_path / "run" / "report.html").read_text()
    assert re.search(rf"Study hash</dt>\s*<dd><code class=\"hash\">{hash}</code>", report)
