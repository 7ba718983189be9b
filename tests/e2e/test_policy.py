"""What a client's kit rejects, even with the coordinator's certificate."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from fedclust.channels.nvflare.job import write_job
from fedclust.channels.nvflare.process import running, server_command
from fedclust.channels.nvflare.provision import lock_server
from fedclust.channels.nvflare.session import Session
from fedclust.deploy.kits import CLIENT_COMPONENT, SERVER_COMPONENT

from .processes import Federation, federation, wait_for

pytestmark = pytest.mark.e2e

EVIL = "from pathlib import Path\nPath({marker!r}).write_text('hello')\n"


@contextlib.contextmanager
def connected(fed: Federation) -> Iterator[Session]:
    kits = fed.folder / "kits"
    lock_server(kits / "server", SERVER_COMPONENT)
    fed.client("north")
    with (
        running(server_command(kits / "server"), kits / "server"),
        Session(kits / "admin", "ana@example.org", seconds=30) as session,
    ):
        wait_for(lambda: session.clients() == ["north"], "a client")
        yield session


def ended(session: Session, job: Path) -> str:
    id = session.submit(job)
    status = wait_for(
        lambda: (found := session.status(id)).startswith("FINISHED") and found, "its end"
    )
    return str(status)


def job(fed: Federation, name: str, **client: Any) -> Path:
    folder = fed.folder / name
    words = dict.fromkeys(("study", "folder", "work", "run"), str(fed.folder / "none"))
    write_job(
        folder,
        name,
        server=(SERVER_COMPONENT, {**words, "deadline": 1.0, "force": False, "resume": False}),
        client=(CLIENT_COMPONENT, {"study": "s"}),
        clients=["north"],
        min_clients=1,
    )
    path = folder / "client" / "config" / "config_fed_client.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **client}))
    return folder


def test_neither_code_nor_other_classes_nor_curiosity_get_in(tmp_path: Path) -> None:
    marker = tmp_path / "evil-was-here"
    with federation(tmp_path) as fed, connected(fed) as session:
        with_code = job(fed, "code")
        (with_code / "client" / "custom").mkdir()
        evil = EVIL.format(marker=str(marker))
        (with_code / "client" / "custom" / "evil.py").write_text(evil)
        assert ended(session, with_code) != "FINISHED:COMPLETED"
        trainer = {"path": "nvflare.app_common.np.np_trainer.NPTrainer", "args": {}}
        other = job(fed, "other", executors=[{"tasks": ["*"], "executor": trainer}])
        assert ended(session, other) != "FINISHED:COMPLETED"
        shell = job(fed, "shell", components=[{"id": "site", "path": "os.system", "args": {}}])
        assert ended(session, shell) != "FINISHED:COMPLETED"
        with pytest.raises(Exception, match="(?i)not authorized|permission|denied"):
            session._session.cat_target("north", file="people.csv")
        server = (fed.folder / "kits" / "server" / "log.txt").read_text()
        jobs = "".join(log.read_text() for log in fed.kit("north").glob("*/log.txt"))
    assert "north: NVFLARE_ERROR: BYOC not permitted" in server
    for kept_out in ("os.system", trainer["path"]):
        assert f"Component '{kept_out}' at config path" in jobs
    assert jobs.count("is not in allow_list") >= 2
    assert not marker.exists()
    assert not (fed.kit("north") / "disclosures.jsonl").exists()
