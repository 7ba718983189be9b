"""``python -m benchmarks.processors``: whether two kinds of processors compute the same requests.

A masked study is run by one process, as this machine is. Another, with the code that OpenBLAS,
NumPy and Numba have for a processor without AVX2, gets the clients' replies of the first, as a
client that follows gets them, and computes the requests itself. They are compared as a client
compares the server's requests with its own. Sets with ties and equal columns are among them,
because eigenvectors and nearest centres are not unique there.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from fedclust.client.requests import RunRound
from fedclust.core import Data, Message, Plan, Request, respond
from fedclust.follow.agreement import TOLERANCE, as_frame, is_close
from fedclust.study.read import read_study
from fedclust.study.run import run_study
from fedclust.typing import Array, FloatArray

OLD = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX2 "
    "FMA3",
}
STUDIES = {
    "k-means": 'algorithm = "lossless"\nn_clusters = 5',
    "fuzzy": 'algorithm = "lossless"\nfuzzy = true\nn_clusters = 3',
    "summary": 'algorithm = "lossless"\nn_clusters = "auto"\nk_range = [2, 5]',
    "mixture": 'algorithm = "llf-mixture"\nn_clusters = 3',
}
CLIENTS = ("c0", "c1", "c2", "c3")
Key = tuple[str, str]  # of a table and a study


@dataclass
class Trace:
    """Requests with numbers, by algorithm and arrays, and the clients' replies, of one study."""

    asked: list[tuple[str, dict[str, Array]]] = field(default_factory=list)
    replies: dict[str, list[dict[str, Array]]] = field(default_factory=dict)  # by client

    def respond(self, plan: Plan, request: Request, client: str, rows: Data) -> Message:
        """Note a request and its reply."""
        self.note(plan, request, client)
        reply = respond(plan, request, client, rows)
        self.replies.setdefault(client, []).append(dict(reply.arrays()))
        return type(reply).from_arrays(self.replies[client][-1])

    def note(self, plan: Plan, request: Request, client: str) -> None:
        """Note a request, once for all clients."""
        frame = as_frame(RunRound(plan, request, None))  # type: ignore[arg-type]
        if client == CLIENTS[0] and frame.arrays:
            arrays = {n: np.array(a) for n, a in frame.arrays.items()}
            self.asked.append((plan.algorithm.key, arrays))


class Replay(Trace):
    """The same requests, answered by the replies of another process."""

    def __init__(self, other: Trace) -> None:
        super().__init__()
        self._replies = {client: iter(replies) for client, replies in other.replies.items()}

    def respond(self, plan: Plan, request: Request, client: str, rows: Data) -> Message:
        self.note(plan, request, client)
        found: Message = plan.algorithm.up.from_arrays(next(self._replies[client]))
        return found


def tables() -> dict[str, FloatArray]:
    """Rows between 0 and 1."""
    rng = np.random.default_rng(0)
    grid = np.arange(17) / 16
    sets: dict[str, FloatArray] = {
        "clusters": rng.uniform(size=(4, 6))[rng.integers(0, 4, 400)]
        + rng.normal(0, 0.1, (400, 6)),
        "heavy tails": rng.standard_t(1.3, (300, 4)),
        "integers": rng.poisson(3.0, (300, 5)).astype(float),
        "a grid": np.array(np.meshgrid(grid, grid)).reshape(2, -1).T,
        "corners of a cube": np.array(np.meshgrid(*[[0.0, 1.0]] * 4))
        .reshape(4, -1)
        .T.repeat(12, 0),
        "equal columns": np.repeat(rng.integers(0, 4, (300, 1)), 5, axis=1).astype(float),
        "categories of equal shares": np.eye(5)[np.arange(300) % 5],
        "constant columns": np.hstack([rng.uniform(size=(300, 2)), np.full((300, 3), 0.5)]),
    }
    return {name: _between(rng.permutation(X)) for name, X in sets.items()}


def _between(X: FloatArray) -> FloatArray:
    low, high = X.min(axis=0), X.max(axis=0)
    scaled: FloatArray = (X - low) / np.where(high > low, high - low, 1.0)
    return scaled


def run(folder: Path, X: FloatArray, clustering: str, trace: Trace) -> Trace:
    """Run a masked study, and note what is asked."""
    names = [f"x{f}" for f in range(X.shape[1])]
    for client, part in zip(CLIENTS, np.array_split(X, len(CLIENTS)), strict=True):
        np.savetxt(
            folder / f"{client}.csv", part, "%.17g", ",", header=",".join(names), comments=""
        )
    clients = "\n".join(f'{client} = "{client}.csv"' for client in CLIENTS)
    features = "\n".join(f"{name} = {{ low = 0, high = 1 }}" for name in names)
    (folder / "s.toml").write_text(
        f"[clients]\n{clients}\n[clustering]\n{clustering}\n[features]\n{features}\n"
        '[privacy]\ntier = "secure"\nmax_queries = 1000\n'
        '[outputs]\nlabels = "none"\nreport = false\n'
    )
    with patch("fedclust.client.session.respond", trace.respond), suppress(StopIteration):
        run_study(read_study(folder / "s.toml"), folder / "run")
    return trace


def run_all(others: Mapping[Key, Trace] | None = None) -> dict[Key, Trace]:
    """All studies over all tables; with `others`, by the replies that these have."""
    found = {}
    for name, X in tables().items():
        for study, clustering in STUDIES.items():
            trace = Trace() if others is None else Replay(others[name, study])
            with tempfile.TemporaryDirectory() as folder:
                found[name, study] = run(Path(folder), X, clustering, trace)
    return found


def write(file: Path, found: Mapping[Key, Trace]) -> None:
    """Keep all arrays, under names that say which they are."""
    arrays: dict[str, Any] = {}
    for key, trace in found.items():
        for number, (algorithm, given) in enumerate(trace.asked):
            arrays |= {"/".join((*key, "", str(number), algorithm, n)): a for n, a in given.items()}
        for client, replies in trace.replies.items():
            for number, reply in enumerate(replies):
                arrays |= {
                    "/".join((*key, client, str(number), "", n)): a for n, a in reply.items()
                }
    np.savez(file, **arrays)


def read(file: Path) -> dict[Key, Trace]:
    """Inverse of `write`."""
    found: dict[Key, Trace] = {}
    with np.load(file) as arrays:
        for place, array in arrays.items():
            table, study, client, number, algorithm, name = place.split("/")
            trace = found.setdefault((table, study), Trace())
            if client:
                replies = trace.replies.setdefault(client, [])
                replies += [{}] * (int(number) + 1 - len(replies))
                replies[-1] = {**replies[-1], name: array}
                continue
            if len(trace.asked) == int(number):
                trace.asked.append((algorithm, {}))
            trace.asked[-1][1][name] = array
    return found


def elsewhere(changes: Mapping[str, str], *files: Path) -> None:
    """The same in another process, which reads the first file and writes the last one."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **changes, "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.processors", *map(str, files)]
        subprocess.run(command, env=environment, check=True)


def first_difference(here: Trace, there: Trace) -> str:
    """The first request that a client would refuse; empty if there is none."""
    pairs = zip(here.asked, there.asked, strict=False)
    for number, ((ours, mine), (theirs, others)) in enumerate(pairs):
        same = ours == theirs and mine.keys() == others.keys()
        if not same or not all(is_close(n, mine[n], others[n]) for n in mine):
            return f"request {number}, {ours}"
    return "" if len(here.asked) == len(there.asked) else "the number of requests"


def lines() -> Iterator[str]:
    """The table, as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first.npz", Path(folder) / "second.npz"
        elsewhere({}, first)
        elsewhere(OLD, first, second)
        here, there = read(first), read(second)
    yield "| rows | " + " | ".join(STUDIES) + " |"
    yield "|---" * (1 + len(STUDIES)) + "|"
    for name in tables():
        cells = [
            first_difference(here[name, study], there[name, study])
            or f"{len(here[name, study].asked)} requests, the same"
            for study in STUDIES
        ]
        yield f"| {name} | {' | '.join(cells)} |"
    yield f"\nThe same: within {TOLERANCE:.1e}, as clients compare."


if __name__ == "__main__":
    given = [Path(name) for name in sys.argv[1:]]
    if given:
        write(given[-1], run_all(read(given[0]) if len(given) > 1 else None))
    else:
        for line in lines():
            print(line)
