"""A server that is only pretended: it runs the study of a job over sites in this process."""

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fedclust.deploy.coordinator import run_federated
from fedclust.deploy.job import StudyJob
from fedclust.deploy.quorum import RunOptions
from fedclust.follow.endpoint import FollowingEndpoint
from fedclust.study.read import read_study
from fedclust.study.settings import Study

from .in_process import FEDERATION, NAMES, InProcess, write_kits

pytest.importorskip("nvflare", reason="the pretended parts replace those of NVFlare")
from fedclust.channels.nvflare import certificates, process, provision, session

STUDY = """
[clustering]
algorithm = "llf-fcm"
n_clusters = 3
[sampling]
min_clients = 2
[privacy]
tier = "none"
[outputs]
report = false
"""


QUICK = RunOptions(deadline=5.0, wait=0.5, grace=0.0, attempts=3)


class Pretended:
    """A server: `submit` runs the study that the job names over sites in this process."""

    def __init__(self, transport: InProcess, folder: Path) -> None:
        self.transport, self.folder = transport, folder
        self.jobs: list[dict[str, Any]] = []
        self.there = list(NAMES)
        self.port_is_free = True
        self.ready: tuple[str, ...] = NAMES
        self.job = threading.Thread()
        self.die_in_job = 0  # the first so many jobs end without an outcome
        self.aborted = 0
        self.aborted_names: list[str] = []

    def __enter__(self) -> "Pretended":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def clients(self) -> list[str]:
        return self.there

    def submit(self, job: Path) -> str:
        config = json.loads((job / "server" / "config" / "config_fed_server.json").read_text())
        arguments = config["components"][0]["args"]
        self.jobs.append(arguments)
        if len(self.jobs) > self.die_in_job:
            run = StudyJob(**arguments).run
            self.job = threading.Thread(target=run, args=(self.transport, self.ready))
            self.job.start()
        return str(len(self.jobs))

    def status(self, job: str) -> str:
        if int(job) <= self.die_in_job:
            return "FINISHED:EXECUTION_EXCEPTION"
        return "RUNNING" if self.job.is_alive() else "FINISHED:COMPLETED"

    def failed_sites(self, job: str) -> list[str]:
        return ["west"]

    def last_seen(self) -> dict[str, float]:
        return dict.fromkeys(self.there, 1.0)

    def abort_study(self, study: str) -> None:
        self.aborted_names.append(study)

    def abort(self, job: str) -> None:
        self.aborted += 1
        self.job.join()


def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretended:
    """Replace the parts of NVFlare by a server in this process."""
    folder = tmp_path / "sites"
    sites = {name: FollowingEndpoint(folder / name, name, "s") for name in write_kits(folder)}
    made = Pretended(InProcess(sites), tmp_path)
    for role, name in (("server", "localhost"), ("admin", "ana@example.org")):
        (tmp_path / "kits" / role).mkdir(parents=True)
        about = {"role": role, "name": name, "federation": FEDERATION}
        (tmp_path / "kits" / role / "fedclust.json").write_text(json.dumps(about))

    @contextlib.contextmanager
    def running(command: Any, kit: Path) -> Iterator[Any]:
        yield SimpleNamespace(pid=0)

    monkeypatch.setattr(process, "running", running)
    monkeypatch.setattr(process, "is_free", lambda port: made.port_is_free)
    monkeypatch.setattr(process, "wait_until_served", lambda port, seconds: None)
    monkeypatch.setattr(provision, "lock_server", lambda kit, component: None)
    monkeypatch.setattr(session, "Session", lambda *_, **__: made)
    monkeypatch.setattr(certificates, "days_left", lambda *_: 300)
    monkeypatch.setattr("fedclust.deploy.damage.check_files", lambda kit: None)
    monkeypatch.setattr("fedclust.deploy.coordinator._STATUS_INTERVAL", 0.1)
    return made


def study(tmp_path: Path, text: str = STUDY) -> Study:
    (tmp_path / "s.toml").write_text(text)
    return read_study(tmp_path / "s.toml", files=False)


def run(
    tmp_path: Path, text: str = STUDY, *, resume: bool = False, force: bool = False
) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    kits, out = tmp_path / "kits", tmp_path / "run"
    run_federated(study(tmp_path, text), kits, out, QUICK, said.append, resume=resume, force=force)
    return said
