"""Silence costs seconds: these tests run with the default deadline, which is minutes.

What the study says decides, not a stopwatch: a client that died is named with the reason by which
it was noticed, and a deadline that ran out would be named as well.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from fedclust.channels.remote import DEADLINE

from .processes import CLIENTS, Command, Federation, federation
from .test_faults import LONG, UNDER_WAY, history, job_process, same_result
from .test_secure_faults import UNDER_WAY as FOLLOWED
from .test_secure_faults import secure_study, slow_client

pytestmark = pytest.mark.e2e

END = 300.0  # seconds; far more than any of these studies takes
DIED = r"west: (?:cannot be reached|no sign of life for (\d+) seconds)"

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


def assert_noticed(server: Command) -> None:
    """The server noticed the client's death, and waited for no deadline."""
    said = server.said()
    noticed = re.search(DIED, said)
    assert noticed, said
    assert float(noticed[1] or 0) < DEADLINE / 4
    assert "no answer" not in said


def test_a_client_that_dies_costs_a_study_no_deadline(fed: Federation) -> None:
    study = fed.write_study(LONG, k=7, min_clients=2)
    clients = {name: fed.client(name) for name in CLIENTS}
    server = fed.server(study)
    server.says(UNDER_WAY)
    clients["west"].kill()
    assert server.ends(END) == 0, server.said()
    assert_noticed(server)
    assert [line["n_clients"] for line in history(fed.folder / "study-run")][-1] == 2
    noted = (fed.folder / "study-run" / "incidents.jsonl").read_text().splitlines()
    assert len(noted) == 1, "one death is one incident"


def test_a_client_that_freezes_costs_a_study_no_deadline(fed: Federation) -> None:
    """Its connection is open: only the missing signs of life show that it is frozen."""
    study = fed.write_study(LONG, k=7, min_clients=2)
    clients = {name: fed.client(name) for name in CLIENTS}
    server = fed.server(study)
    server.says(UNDER_WAY)
    frozen = job_process(clients["west"])
    frozen.suspend()
    try:
        assert server.ends(END) == 0, server.said()
    finally:
        frozen.resume()
    assert_noticed(server)


def test_a_secure_study_says_who_died_and_goes_on_when_the_client_is_back(fed: Federation) -> None:
    """Three clients cannot go on with two; the study waits for the third, and then ends."""
    study = secure_study(fed)
    clients = {name: slow_client(fed, name) for name in CLIENTS}
    server = fed.server(study, "--wait", "15")
    server.says(FOLLOWED)
    clients["west"].kill()
    assert server.ends(END) == 1, server.said()
    assert_noticed(server)
    assert "no usable answer from west, and the others cannot go on without" in server.said()
    assert "2 clients connected within 15 s (3 needed; connected: north, south)" in server.said()
    slow_client(fed, "west")
    again = fed.server(study, "--resume")
    assert again.ends(END) == 0, again.said()
    assert same_result(fed, study)


def test_a_client_of_a_secure_study_that_dies_is_back_without_a_deadline(fed: Federation) -> None:
    study = secure_study(fed)
    clients = {name: slow_client(fed, name) for name in CLIENTS}
    server = fed.server(study)
    server.says(FOLLOWED)
    clients["west"].kill()
    slow_client(fed, "west")
    assert server.ends(END) == 0, server.said()
    assert_noticed(server)
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
    assert server.ends(END) == 0, server.said()
    assert {line["n_clients"] for line in history(fed.folder / "study-run")} == {3}
    assert same_result(fed, study)
