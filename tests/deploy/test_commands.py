"""The commands of a federation, as far as they go without a network."""

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.cli.signals import exit_on_signals
from fedclust.client.config import read_client_config
from fedclust.privacy import Ledger
from fedclust.privacy.accounting import mu_for

from ..support.federation_files import written
from ..support.hostile_server import PLAN, request
from ..support.in_process import FEDERATION, write_kits


def command(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "300"})


def client_kit(folder: Path, name: str = "west") -> Path:
    write_kits(folder)
    about = {"role": "client", "name": name, "federation": FEDERATION}
    (folder / name / "fedclust.json").write_text(json.dumps(about))
    return folder / name


def test_provision_and_doctor(tmp_path: Path) -> None:
    pytest.importorskip("nvflare", reason="kits need fedclust[nvflare]")
    file = written(tmp_path)
    assert "Made 4 kits" in command("provision", file).output
    again = command("provision", file)
    assert "Made 0 kits" in again.output
    assert again.exit_code == 0
    kit = tmp_path / "federation-kits" / "clients" / "north"
    assert "<name>-renewal.zip to each client" in command("provision", file, "--renew").output
    assert kit.with_name("north-renewal.zip").exists()
    shown = command("doctor", kit)
    assert shown.exit_code == 1
    assert "there is no file data.csv" in shown.output
    found = json.loads(command("doctor", kit, "--json").output)
    assert {"certificate", "policy", "data"} <= {check["name"] for check in found}


def test_a_wrong_file_is_a_sentence(tmp_path: Path) -> None:
    done = command("provision", written(tmp_path, "[federation]\n"))
    assert done.exit_code == 1
    assert "needs name" in done.output
    assert "is not a kit" in command("doctor", tmp_path).output
    assert "is not a kit" in command("client", tmp_path).output


def test_what_left_is_shown_in_sum_and_one_by_one(tmp_path: Path) -> None:
    sites = write_kits(tmp_path, 'studies = ["s"]')
    kit = tmp_path / "west"
    assert "No message has left" in command("disclosures", kit).output
    for _ in range(3):
        sites["west"].answer(request(PLAN), "ana@example.org")
    sites["west"].answer(request(PLAN, study="other"), "ana@example.org")
    summed = command("disclosures", kit).output
    assert [cell.strip() for cell in summed.splitlines()[4].split("│")[1:5]] == [
        "ana@example.org",
        "s",
        "llf-fcm",
        "3",
    ]
    assert "Queries answered: 1 of 1,000 allowed" in summed
    reset = command("disclosures", kit, "--reset-ledger", "the data of another year").output
    assert "Queries answered: 0 of 1,000 allowed" in reset
    assert "the data of another year" in (kit / "ledger.jsonl").read_text()
    every = command("disclosures", kit, "--all").output
    assert every.count("weight [3], total [3, 2]") == 3
    assert "refused: the job was signed for the study 's', not 'other'" in every
    (kit / "disclosures.jsonl").write_text("{\n")
    assert ":1: not a valid line" in command("disclosures", kit).output


def test_a_client_starts_only_with_a_readable_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nvflare", reason="clients need fedclust[nvflare]")
    from fedclust.channels.nvflare import certificates, process

    kit = client_kit(tmp_path)
    monkeypatch.setattr(certificates, "days_left", lambda *_: 4)
    monkeypatch.setattr("fedclust.deploy.run_client.check_files", lambda kit: None)
    monkeypatch.setattr(process, "client_command", lambda folder, name: ["false"])
    done = command("client", kit)
    assert done.exit_code == 1
    assert "startup expires in 4 days" in done.output
    assert "peers.json is missing" in done.output
    assert "connecting to h, port 1" in done.output
    assert "ended with status 1" in done.output
    (kit / "identity.key").write_text("00" * 32)
    (kit / "identity.key").chmod(0o644)
    assert "identity.key; changed its mode to 600" in command("client", kit).output
    assert (kit / "identity.key").stat().st_mode & 0o077 == 0
    monkeypatch.undo()
    unusable = command("client", kit)
    assert "is not usable" in unusable.output
    assert "connecting" not in unusable.output
    (kit / "people.csv").unlink()
    missing = command("client", kit)
    assert "there is no file people.csv" in missing.output
    assert "connecting" not in missing.output


def test_status_asks_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nvflare", reason="sessions need fedclust[nvflare]")
    from fedclust.channels.nvflare import session

    class FakeSession(SimpleNamespace):
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            return None

    jobs = [{"study": "heart", "submitted": "today", "state": "RUNNING"}]
    line = FakeSession(last_seen=lambda: {"west": 3.0}, jobs=lambda: jobs)
    monkeypatch.setattr(session, "Session", lambda *_, **__: line)
    (tmp_path / "admin").mkdir()
    about = {"role": "admin", "name": "ana", "federation": FEDERATION}
    (tmp_path / "admin" / "fedclust.json").write_text(json.dumps(about))
    shown = command("status", "--kits", tmp_path).output
    assert "3 s ago" in shown
    assert "heart" in shown
    found = json.loads(command("status", "--kits", tmp_path, "--json").output)
    assert found == {"clients": {"west": 3.0}, "jobs": jobs, "running": None}

    def silent(*_: object, **__: object) -> Any:
        raise session.NoServer

    monkeypatch.setattr(session, "Session", silent)
    alone = command("status", "--kits", tmp_path)
    assert alone.exit_code == 1
    assert "no server answers at h, port 1. It runs only while 'fedclust server'" in alone.output


def test_without_nvflare_the_commands_say_what_to_install(tmp_path: Path) -> None:
    """In a Python of its own, to which NVFlare is made unknown."""
    blocked = (
        "import sys, importlib.util as u; found = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'nvflare' else found(n, *a)\n"
        "from fedclust.cli import app; app()"
    )
    words = [sys.executable, "-c", blocked, "provision", str(written(tmp_path))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'fedclust[nvflare]'" in " ".join(done.stderr.split())


def test_sigterm_cleans_up_before_it_ends() -> None:
    cleaned = []

    def block() -> None:
        with exit_on_signals():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
            finally:
                cleaned.append(True)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended:
        block()
    assert ended.value.code == 130
    assert cleaned == [True]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_glob_names_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x\n2\n")
    (tmp_path / "client.toml").write_text('[data]\nfile = "*.csv"\n')
    names = [p.name for p in read_client_config(tmp_path / "client.toml").files()]
    assert names == ["a.csv", "b.csv"]


def test_what_noise_has_cost_is_shown(tmp_path: Path) -> None:
    """Epsilon as spent, beside what the owner allows; a reset starts it again."""
    write_kits(tmp_path, 'privacy = "dp"\nepsilon = 2.0')
    kit = tmp_path / "west"
    mu = mu_for(0.5, 1e-6)
    Ledger(kit / "ledger.jsonl").spend(mu**2, what="a round")
    assert "Epsilon spent, at delta 1e-06: 0.5 of 2 allowed" in command("disclosures", kit).output
    reset = command("disclosures", kit, "--reset-ledger", "other data").output
    assert "Epsilon spent, at delta 1e-06: 0 of 2 allowed" in reset


def test_an_interrupted_server_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nvflare", reason="servers need fedclust[nvflare]")
    from fedclust.channels.nvflare import certificates

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fedclust.deploy.coordinator.run_federated", interrupted)
    monkeypatch.setattr(certificates, "days_left", lambda *_: 300)
    monkeypatch.setattr("fedclust.deploy.damage.check_files", lambda kit: None)
    for role in ("server", "admin"):
        (tmp_path / role).mkdir()
        about: dict[str, Any] = {"role": role, "name": "n", "federation": FEDERATION}
        (tmp_path / role / "fedclust.json").write_text(json.dumps(about))
    (tmp_path / "s.toml").write_text('[clustering]\nalgorithm = "lossless"\nn_clusters = 2\n')
    done = command("server", tmp_path / "s.toml", "--kits", tmp_path)
    assert done.exit_code == 130
    assert "run the same command with --resume" in done.output


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_a_gpu_that_is_asked_for_and_absent_is_said_before_the_client_connects(
    tmp_path: Path,
) -> None:
    kit = client_kit(tmp_path)
    settings = kit / "client.toml"
    settings.write_text(settings.read_text() + '\n[compute]\ndevice = "gpu"\n')
    done = command("client", kit)
    assert done.exit_code == 1
    assert "CuPy is not installed" in " ".join(done.output.split())
    checks = json.loads(command("doctor", kit, "--json").output)
    (device,) = [check for check in checks if check["name"] == "device"]
    assert not device["ok"]
