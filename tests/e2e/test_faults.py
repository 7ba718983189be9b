"""Faults on real machines, one per test: the run continues, or ends with a clear message."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from fedclust.channels.nvflare.process import is_free

from .processes import CLIENTS, Command, Federation, federation, results_of, wait_for
from .studies_of_nemesis import SLOW

pytestmark = pytest.mark.e2e

# With this many clusters for so few rows, the run does not converge within its rounds.
LONG = 'algorithm = "llf-fcm"\nfuzzifier = 1.5\nmax_rounds = 200\ntol = 0.0'
UNDER_WAY = r"llf-fcm, round 1\d:"


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


def history(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def same_result(fed: Federation, study: Path) -> bool:
    return results_of(fed.run_here(study)) == results_of(fed.folder / "study-run")


def job_process(client: Command) -> psutil.Process:
    """The job process of a client."""

    def found() -> psutil.Process | None:
        for member in client.family():
            if "worker_process" in " ".join(member.cmdline()):
                return member
        return None

    process = wait_for(found, "a job process")
    assert isinstance(process, psutil.Process)
    return process


def test_a_client_that_is_killed_is_left_out_and_back_for_the_next_study(fed: Federation) -> None:
    study = fed.write_study(LONG, k=7, min_clients=2)
    clients = {name: fed.client(name) for name in CLIENTS}
    server = fed.server(study, "--deadline", "3")
    server.says(UNDER_WAY)
    clients["west"].kill()
    assert server.ends(120) == 0, server.said()
    counts = [line["n_clients"] for line in history(fed.folder / "study-run")]
    assert counts[0] == 3
    assert counts[-1] == 2
    assert len(counts) == 200
    assert "west" in (fed.folder / "study-run" / "incidents.jsonl").read_text()
    fed.client("west")
    again = fed.server(study, "--out", str(fed.folder / "second"), "--wait", "60", "--grace", "30")
    assert again.ends(120) == 0, again.said()
    assert {line["n_clients"] for line in history(fed.folder / "second")} == {3}


def test_after_a_job_process_dies_the_run_goes_on_where_it_was(fed: Federation) -> None:
    study = fed.write_study(LONG, k=7)
    clients = {name: fed.client(name) for name in CLIENTS}
    server = fed.server(study, "--deadline", "3")
    server.says(UNDER_WAY)
    job_process(clients["south"]).kill()
    assert server.ends(150) == 0, server.said()
    assert "submitting the job again" in server.said()
    assert "the run continues from its last saved round" in server.said()
    assert same_result(fed, study)


def test_a_slow_client_misses_rounds_and_is_back(fed: Federation) -> None:
    study = fed.write_study(LONG, k=7, min_clients=2)
    clients = {name: fed.client(name) for name in CLIENTS}
    server = fed.server(study, "--deadline", "2")
    server.says(UNDER_WAY)
    slow = job_process(clients["north"])
    slow.suspend()
    time.sleep(3)
    slow.resume()
    assert server.ends(120) == 0, server.said()
    counts = [line["n_clients"] for line in history(fed.folder / "study-run")]
    assert 2 in counts
    assert counts[-1] == 3
    assert "no answer" in server.said()


def test_a_server_that_is_killed_resumes_bit_for_bit(fed: Federation) -> None:
    study = fed.write_study(LONG, k=7)
    for name in CLIENTS:
        fed.client(name)
    first = fed.server(study)
    first.says(UNDER_WAY)
    first.kill()
    refused = fed.server(study)
    assert refused.ends() == 1
    assert "continue it with --resume" in refused.said()
    second = fed.server(study, "--resume")
    assert second.ends(150) == 0, second.said()
    assert "the run continues from its last saved round" in second.said()
    assert same_result(fed, study)
    assert not list(fed.folder.glob(".study-run*"))


def test_a_command_that_is_killed_alone_resumes_with_the_server_it_left(fed: Federation) -> None:
    study = fed.write_study(LONG, k=7)
    (fed.folder / "slow").mkdir()
    (fed.folder / "slow" / "sitecustomize.py").write_text(SLOW)
    path = os.pathsep.join([str(fed.folder / "slow"), os.environ.get("PYTHONPATH", "")])
    for name in CLIENTS:
        fed.client(name, env={"PYTHONPATH": path})
    first = fed.server(study)
    first.says(UNDER_WAY)
    first.family()
    first.process.kill()
    first.ends()
    second = fed.server(study, "--resume")
    assert second.ends(150) == 0, second.said()
    assert "using the server that is running" in second.said()
    assert is_free(fed.port), "it is stopped, too, with its command"
    assert "the run continues from its last saved round" in second.said()
    assert same_result(fed, study)


def test_a_certificate_of_another_federation_is_refused(fed: Federation) -> None:
    fed.write_kits("others", fed.port)
    study = fed.write_study(LONG, k=7)
    intruder = fed.folder / "others" / "clients" / "west"
    # It has the right authority's certificate, but its own key is signed by another authority.
    for file in ("people.csv", "client.toml", "startup/rootCA.pem"):
        (intruder / file).write_text((fed.kit("west") / file).read_text())
    fed.client("north")
    fed.client("south")
    fed.command("west", "client", str(intruder))
    server = fed.server(study, "--wait", "15")
    server.says("connected: north, south")
    doctor = fed.command("doctor", "doctor", str(intruder), "--json")
    assert doctor.ends() == 1
    found = {check["name"]: check["message"] for check in json.loads(doctor.said())}
    assert "does not accept this certificate" in found["connection"]
    assert server.ends() == 1
    assert "2 clients connected within 15 s (3 needed; connected: north, south)" in server.said()
    assert "west" not in server.said()
    log = (fed.folder / "kits" / "server" / "log.txt").read_text()
    assert "SSL north" in log
    assert "west" not in log


HOSTILE = """
from fedclust.client.endpoint import ClientEndpoint

answer, count = ClientEndpoint.answer, [0]

def hostile(self, raw, author=""):
    reply = answer(self, raw, author)
    count[0] += 1
    if b'"kind": "round"' not in raw:
        return reply
    return [b"garbage", reply[:-3], reply + bytes(70 * 2**20), 7][count[0] % 4]

ClientEndpoint.answer = hostile
"""


def test_hostile_answers_are_left_out_with_a_sentence(fed: Federation, tmp_path: Path) -> None:
    study = fed.write_study('algorithm = "llf-fcm"\nmax_rounds = 12\ntol = 0.0', min_clients=2)
    (tmp_path / "hostile").mkdir()
    (tmp_path / "hostile" / "sitecustomize.py").write_text(HOSTILE)
    path = os.pathsep.join([str(tmp_path / "hostile"), os.environ.get("PYTHONPATH", "")])
    fed.client("north")
    fed.client("south")
    fed.client("west", env={"PYTHONPATH": path})
    server = fed.server(study)
    assert server.ends() == 0, server.said()
    assert {line["n_clients"] for line in history(fed.folder / "study-run")} == {2}
    noted = (fed.folder / "study-run" / "incidents.jsonl").read_text()
    for words in (
        "not a fedclust message",
        "its checksum does not match",
        "more than the",
        "contains no bytes",
    ):
        assert words in noted


def test_a_refusal_reaches_the_console_and_the_record(fed: Federation) -> None:
    study = fed.write_study('algorithm = "llf-fcm"', min_clients=2)
    with open(fed.kit("west") / "client.toml", "a") as file:
        file.write('[consent]\nalgorithms = ["llf-cm"]\n')
    for name in CLIENTS:
        fed.client(name)
    server = fed.server(study)
    assert server.ends() == 0, server.said()
    says = "west: refused: client.toml does not list 'llf-fcm' under algorithms"
    assert says in server.said()
    assert "does not list" in (fed.folder / "study-run" / "incidents.jsonl").read_text()


def test_a_client_whose_columns_changed_is_left_out_of_the_study(fed: Federation) -> None:
    study = fed.write_study('algorithm = "llf-fcm"', min_clients=2)
    study.write_text(study.read_text() + "[features]\nheight = {}\nwidth = {}\n")
    file = fed.kit("west") / "people.csv"
    file.write_text(file.read_text().replace("width", "breadth", 1))
    for name in CLIENTS:
        fed.client(name)
    server = fed.server(study)
    assert server.ends() == 0, server.said()
    says = "west: its data do not fit: column 'width': the column does not exist"
    assert says in server.said()
    assert "do not fit" in (fed.folder / "study-run" / "incidents.jsonl").read_text()


def test_a_running_federation_is_seen_and_ending_it_leaves_nothing_behind(
    fed: Federation,
) -> None:
    study = fed.write_study(LONG.replace("200", "900"), k=7)
    for name in CLIENTS:
        fed.client(name)
    server = fed.server(study)
    server.says(UNDER_WAY)
    status = fed.command("status", "status", "--kits", str(fed.folder / "kits"), "--json")
    doctor = fed.command("doctor", "doctor", str(fed.kit("west")), "--json")
    assert status.ends() == 0, status.said()
    found = json.loads(status.said())
    assert sorted(found["clients"]) == sorted(CLIENTS)
    assert [job["study"] for job in found["jobs"]] == ["study"]
    assert doctor.ends() == 0, doctor.said()
    server.family()
    server.process.send_signal(signal.SIGTERM)
    assert server.ends() == 130
    assert not server.family()
