"""An engine from outside the package: two methods that carry bytes, and a loop at each client.

This one carries messages through queues to a thread for each client. A real engine does the same
between machines: the server's side is a `Transport`, the client's side calls the client's endpoint
with the bytes of a request and the name of the sender, and returns its bytes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import LocalChannel, RemoteChannel
from fedclust.core import Plan, Schema, TooFewClients, run
from fedclust.study.read import read_study

from ..support.in_process import NAMES, PLAIN, as_data, run_across, write_kits

Answer = Callable[[bytes, str], bytes]  # a client's endpoint: request and sender to reply
SCHEMA = Schema(2)
START = np.array([[1.0, 9.0], [4.0, 18.0], [8.0, 4.0]])
STUDY = """
[clients]
north = "north/people.csv"
south = "south/people.csv"
west = "west/people.csv"
[clustering]
algorithm = "lossless"
n_clusters = 3
[privacy]
tier = "none"
[data]
id = "person"
[outputs]
labels = "none"
"""


class QueueTransport:
    """The server's side of the engine: all that `RemoteChannel` needs."""

    def __init__(self, names: Sequence[str]) -> None:
        self.requests: dict[str, Queue[bytes | None]] = {name: Queue() for name in names}
        self.replies: Queue[tuple[str, bytes]] = Queue()

    def clients(self) -> list[str]:
        return list(self.requests)

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        waiting = set(clients)
        for client in clients:
            self.requests[client].put(request)
        while waiting:
            try:
                client, reply = self.replies.get(timeout=seconds)
            except Empty:
                yield from ((client, "no answer in time") for client in sorted(waiting))
                return
            waiting.discard(client)
            yield client, reply


@contextmanager
def serve(endpoints: Mapping[str, Answer], silent: Sequence[str] = ()) -> Iterator[QueueTransport]:
    """The clients' side of the engine: a thread for each that answers until it is asked to end."""
    transport = QueueTransport(list(endpoints))

    def answer_requests(name: str) -> None:
        while (request := transport.requests[name].get()) is not None:
            if name not in silent:
                transport.replies.put((name, endpoints[name](request, "coordinator")))

    threads = [Thread(target=answer_requests, args=(name,)) for name in endpoints]
    for thread in threads:
        thread.start()
    try:
        yield transport
    finally:
        for requests in transport.requests.values():
            requests.put(None)
        for thread in threads:
            thread.join()


def endpoints(folder: Path) -> dict[str, Answer]:
    return {name: client.answer for name, client in write_kits(folder).items()}


@pytest.mark.parametrize("key", ["llf-cm", "fkm", "ffcm-avg2"])
def test_a_plan_gives_the_same_bits_as_in_one_process(key: str, tmp_path: Path) -> None:
    plan = Plan(make(key, 3, init=START), seed=1)
    with serve(endpoints(tmp_path)) as transport:
        channel = RemoteChannel(transport, about={"study": "s"}).over(PLAIN, SCHEMA)
        across = run(plan, channel, SCHEMA)
    alone = run(plan, LocalChannel(as_data()), SCHEMA)
    assert across.model.tobytes() == alone.model.tobytes()
    assert across.history == alone.history


def test_a_study_runs_over_it_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(STUDY)
    with serve(endpoints(tmp_path)) as transport:
        study = read_study(tmp_path / "s.toml")
        remote = RemoteChannel(transport, about={"study": "s"})
        run_across(study, remote, tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"model.json", "report.html"}


def test_a_client_that_does_not_answer_is_left_out_or_ends_the_run(tmp_path: Path) -> None:
    plan = Plan(make("llf-cm", 3, init=START, max_rounds=2, tol=0.0))
    with serve(clients := endpoints(tmp_path)) as transport:
        run(plan, RemoteChannel(transport, about={"study": "s"}).over(PLAIN, SCHEMA), SCHEMA)
    with serve(clients, silent=["west"]) as transport:  # the others have read their files
        patient = RemoteChannel(transport, about={"study": "s"}, deadline=2.0, quorum=2)
        done = run(plan, patient.over(PLAIN, SCHEMA), SCHEMA)
        strict = RemoteChannel(transport, about={"study": "s"}, deadline=2.0, quorum=3)
        with pytest.raises(TooFewClients, match="no answer in time"):
            run(plan, strict.over(PLAIN, SCHEMA), SCHEMA)
    assert {line.n_clients for line in done.history} == {len(NAMES) - 1}
