"""``python -m benchmarks.following``: what it costs that clients follow a study.

The same masked study, once with clients that answer plans and once with clients that follow it,
study by study in turn. Requests and replies are bytes, as over a network. Clients are on machines
of their own, so a round takes the time of the server and of one client, its step over 500 rows
included. It is measured twice: as time that passes, with the disk, on which a client's ledger and
log are before a reply leaves; and as processor time. What carries the bytes is in neither. The
lower quartile is shown, because other programs on the machine only add to it. Everything else is as
in a federation: signatures, masks, ledgers, logs, the transcript.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from fedclust.channels import RemoteChannel
from fedclust.client.endpoint import ClientEndpoint
from fedclust.client.identities import IDENTITY, PEERS, write_peers, write_secret
from fedclust.core.wire import unpack
from fedclust.follow.endpoint import FollowingEndpoint
from fedclust.follow.relay import RelayPool, StudyText
from fedclust.follow.transcript import Transcript
from fedclust.privacy.crypto import fresh_secret, signing_public
from fedclust.study.pool import RemotePool
from fedclust.study.read import read_study
from fedclust.study.run import Outcome, carry_out
from fedclust.study.run_directory import RunDirectory
from fedclust.typing import FloatArray

K, F, ROUNDS = 60, 16, 12  # 60 weights and 60 x 16 sums: 1,020 values
N_ROWS, N_PAIRS = 500, 5
MOST_RATIO, MOST_BYTES, MOST_CPU = 1.3, 2e6, 0.020
STUDY = """
[features]
{features}
[clustering]
algorithm = "lossless"
n_clusters = {k}
init = "uniform"
tol = 0.0
max_rounds = {rounds}
[privacy]
tier = "secure"
max_queries = 1000
[outputs]
labels = "none"
report = false
"""


Seconds = FloatArray  # that pass, and of the processor


@dataclass
class Costs:
    """Seconds and bytes of the rounds of one study."""

    server: list[Seconds] = field(default_factory=list)
    clients: list[list[Seconds]] = field(default_factory=list)
    down: list[int] = field(default_factory=list)

    def add(self, other: "Costs") -> None:
        """Take in the rounds of another study, but for the first, which loads and compiles."""
        self.server += other.server[1:]
        self.clients += other.clients[1:]
        self.down += other.down

    @property
    def round(self) -> Seconds:
        """A round with every client on a machine of its own."""
        return self.of_server + self.of_client

    @property
    def of_server(self) -> Seconds:
        """What the server takes in a round."""
        return _usual(self.server)

    @property
    def of_client(self) -> Seconds:
        """What a client takes in a round."""
        return _usual([seconds for one in self.clients for seconds in one])


def _usual(seconds: Sequence[Seconds]) -> Seconds:
    usual: Seconds = np.percentile(seconds, 25, axis=0)
    return usual


def _now() -> Seconds:
    return np.array([time.perf_counter(), time.process_time()])


class Timed:
    """A transport to endpoints in this process, which measures clustering rounds."""

    def __init__(self, sites: dict[str, ClientEndpoint]) -> None:
        self._sites, self.costs = sites, Costs()
        self._since = _now()

    def clients(self) -> list[str]:
        """All of them."""
        return list(self._sites)

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        """Every client's answer, one after the other."""
        server = _now() - self._since
        used: list[Seconds] = []
        answers: list[tuple[str, bytes | str]] = []
        for client in clients:
            start = _now()
            answers.append((client, self._sites[client].answer(request, "ana@example.org")))
            used.append(_now() - start)
        if unpack(request).header.get("algorithm") == "CMeans":
            self.costs.server.append(server)
            self.costs.clients.append(used)
            self.costs.down.append(len(request))
        self._since = _now()
        yield from answers


def write_kits(folder: Path, n_clients: int) -> dict[str, Path]:
    """A folder for each client, with its rows, its client.toml and everybody's identities."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(0.1, 0.9, (K, F))
    secrets = {f"client{i:03d}": fresh_secret() for i in range(n_clients)}
    kits = {}
    for name, secret in secrets.items():
        kits[name] = kit = folder / name
        kit.mkdir(parents=True)
        rows = np.clip(rng.normal(centers[rng.integers(0, K, N_ROWS)], 0.1), 0, 1)
        np.savetxt(
            kit / "rows.csv",
            rows,
            delimiter=",",
            header=",".join(columns()),
            comments="",
            fmt="%.6f",
        )
        (kit / "client.toml").write_text('[data]\nfile = "rows.csv"\n[consent]\nprivacy = "none"\n')
        write_secret(kit / IDENTITY, secret)
        write_peers(kit / PEERS, {c: signing_public(s) for c, s in secrets.items()})
    return kits


def columns() -> list[str]:
    """The names of the features."""
    return [f"x{i}" for i in range(F)]


def run_study(
    folder: Path, n_clients: int, rounds: int, *, followed: bool
) -> tuple[Outcome, Costs]:
    """One study over all clients, and its costs."""
    folder.mkdir(parents=True)
    kits = write_kits(folder / "kits", n_clients)
    kind = FollowingEndpoint if followed else ClientEndpoint
    transport = Timed({name: kind(kit, name) for name, kit in kits.items()})
    path = folder / "costs.toml"
    features = "\n".join(f"{name} = {{ low = 0, high = 1 }}" for name in columns())
    path.write_text(STUDY.format(features=features, k=K, rounds=rounds))
    study = replace(read_study(path, files=False), clients={})
    remote = RemoteChannel(transport, run="a1b2c3d4", about={"study": "costs"})
    pool = RemotePool(remote)
    if followed:
        text = StudyText(study, path.read_text())
        pool = RelayPool(remote, (), text, "a1b2c3d4", Transcript(folder / "transcript"))
        pool.open()
    place = RunDirectory(study, folder / "run", force=False, resume=False)
    return carry_out(study, pool, place), transport.costs


def table() -> Iterator[str]:
    """The costs of rounds, with and without following."""
    yield "| what | plans | followed | ratio or bar |"
    yield "|---|---|---|---|"
    with tempfile.TemporaryDirectory() as place:
        base, costs = Path(place), (Costs(), Costs())
        for pair in range(N_PAIRS):
            done = [
                run_study(base / f"{pair}{followed}", 20, ROUNDS, followed=followed)
                for followed in (False, True)
            ]
            for one, (_, found) in zip(costs, done, strict=True):
                one.add(found)
        yield from _rows_of(*costs)
        (plain, _), (followed_one, _) = done
        same = np.array_equal(plain.model.centers, followed_one.model.centers)
        yield f"| centres | | | {'the same bits' if same else 'DIFFERENT'} |"
        _, many = run_study(base / "many", 100, 4, followed=True)
        yield (
            f"| bytes down to each of 100 clients in a round | | {max(many.down) / 1e6:.2f} MB | "
            f"{_met(max(many.down) <= MOST_BYTES)} <= 2 MB |"
        )
        used = many.of_client[1] * 1e3
        yield f"| processor time of each of 100 clients in a round | | {used:.1f} ms | |"


def _rows_of(plans: Costs, followed: Costs) -> Iterator[str]:
    above = followed.of_client - plans.of_client
    for place, what in enumerate(("time that passes", "processor time")):
        ratio = followed.round[place] / plans.round[place]
        parts = {
            f"a round of 20 clients, 1,020 values, {what}": (plans.round, followed.round),
            "of it the server": (plans.of_server, followed.of_server),
            "of it a client": (plans.of_client, followed.of_client),
        }
        bars = (
            f"{ratio:.2f} ({_met(ratio <= MOST_RATIO)} <= 1.3)",
            "",
            f"+{above[1] * 1e3:.1f} ms ({_met(above[1] <= MOST_CPU)} <= 20 ms)" if place else "",
        )
        for (name, (less, more)), bar in zip(parts.items(), bars, strict=True):
            yield f"| {name} | {less[place] * 1e3:.1f} ms | {more[place] * 1e3:.1f} ms | {bar} |"


def _met(good: bool) -> str:
    return "met:" if good else "MISSED:"


if __name__ == "__main__":
    for line in table():
        sys.stdout.write(line + "\n")
