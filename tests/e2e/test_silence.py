"""Silence costs seconds, whatever the deadline: these tests run with the default of minutes."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from .processes import CLIENTS, Command, Federation, federation
from .test_faults import LONG, UNDER_WAY, history, job_process, same_result
from .test_secure_faults import UNDER_WAY as FOLLOWED
from .test_secure_faults import secure_study, slow_client

pytestmark = pytest.mark.e2e

# A first answer that takes longer than silence may; the client is at work, and is not left out.
BUSY = """
import time
from fedclust.client.endpoint import ClientEndpoint

answer, done = ClientEndpoint.answer, []

def busy(self, raw, author=""):
    if not done:
        done.append(1)
        time.sleep(22)
    return answer(self, raw, author)

ClientEndpoint.answer = busy
"""


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


def test_a_client_that_dies_costs_a_study_no_deadline(fed: Federation) -> None:
    study = fed.write_study(LONG, k=7, min_clients=2)
    clients = {name: fed.client(name) for name in CLIENTS}
    server = fed.server(study)
    server.says(UNDER_WAY)
    clients["west"].kill()
    assert server.ends(75) == 0, server.said()
    assert [line["n_clients"] for line in history(fed.folder / "study-run")][-1] == 2


def test_a_client_that_freezes_costs_a_study_no_deadline(fed: Federation) -> None:
    study = fed.write_study(LONG, k=7, min_clients=2)
    clients = {name: fed.client(name) for name in CLIENTS}
    server = fed.server(study)
    server.says(UNDER_WAY)
    frozen = job_process(clients["west"])
    frozen.suspend()
    try:
        assert server.ends(90) == 0, server.said()
    finally:
        frozen.resume()
    noted = (fed.folder / "study-run" / "incidents.jsonl").read_text().splitlines()
    assert {json.loads(line)["client"] for line in noted} == {"west"}


def test_a_client_of_a_secure_study_that_dies_is_back_without_a_deadline(fed: Federation) -> None:
    study = secure_study(fed)
    clients = {name: slow_client(fed, name) for name in CLIENTS}
    server = fed.server(study)
    server.says(FOLLOWED)
    clients["west"].kill()
    slow_client(fed, "west")
    assert server.ends(115) == 0, server.said()
    assert same_result(fed, study)


def test_a_client_that_takes_long_is_waited_for(fed: Federation) -> None:
    study = fed.write_study(LONG.replace("200", "20"), k=7, min_clients=2)
    folder = fed.folder / "busy"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BUSY)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    clients: list[Command] = [fed.client("north"), fed.client("south")]
    clients.append(fed.client("west", env={"PYTHONPATH": path}))
    server = fed.server(study, "--grace", "20")
    assert server.ends(115) == 0, server.said()
    assert {line["n_clients"] for line in history(fed.folder / "study-run")} == {3}
    assert same_result(fed, study)
