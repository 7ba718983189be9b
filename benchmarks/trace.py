"""Count the source files and calls of a study and of a round: ``python -m benchmarks.trace``.

Functions are traced as they are called, in the second of two equal runs: what the first import of
a module does is not counted. Comprehensions and lambdas belong to the function that they are in.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import fedclust
from fedclust.channels import RemoteChannel
from fedclust.client.endpoint import ClientEndpoint
from fedclust.core import Plan, Round
from fedclust.study import read_study, run_study
from fedclust.study.pool import RemotePool
from fedclust.study.run import carry_out
from fedclust.study.run_directory import RunDirectory

from .timing import row

SOURCE = str(Path(fedclust.__file__).parent) + "/"
CLIENTS, COLUMNS, ROWS = ("north", "south", "west"), ("height", "width"), 40
STUDY = """
[clients]
north = "north/rows.csv"
south = "south/rows.csv"
west = "west/rows.csv"
[features]
height = { low = -50, high = 50 }
width = { low = -50, high = 50 }
[clustering]
algorithm = "llf-cm"
n_clusters = 3
"""
PLAIN = STUDY.replace(" low = -50, high = 50 ", "") + '[outputs]\nlabels = "csv"\n'
FILES, FUNCTIONS, CALLS, JUMPS = "source files", "functions", "calls", "jumps between files"
ENCODED = "times that each row is encoded"
UNTIL, LOCKS = "calls until the first client has answered", "file locks of each client"
# Counted in the same way before all client code was in client/ and all studies had one frame.
BEFORE: dict[str, dict[str, float]] = {
    "study": {FILES: 64, FUNCTIONS: 426, CALLS: 5040, JUMPS: 2373, ENCODED: 4},
    "masked": {FILES: 40, FUNCTIONS: 186, CALLS: 1050, JUMPS: 608, UNTIL: 334, LOCKS: 6},
    "open": {FILES: 34, FUNCTIONS: 147, CALLS: 643, JUMPS: 341, UNTIL: 193, LOCKS: 3},
}


class Trace:
    """Calls of fedclust's functions, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []  # source file, function

    def start(self) -> None:
        """Record calls from now on."""
        sys.setprofile(self._record)

    def stop(self) -> None:
        """Record no more calls."""
        sys.setprofile(None)

    def _record(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and code.co_name[0] != "<":
            self.calls.append((code.co_filename.removeprefix(SOURCE), code.co_qualname))

    def count(self, *functions: str) -> int:
        """How often one of these functions was called."""
        return sum(name in functions for _, name in self.calls)

    def numbers(self) -> dict[str, float]:
        """What is printed of every trace."""
        files = [file for file, _ in self.calls]
        return {
            FILES: len(set(files)),
            FUNCTIONS: len(set(self.calls)),
            CALLS: len(files),
            JUMPS: sum(a != b for a, b in pairwise(files)),
        }


class InProcess:
    """A transport to endpoints in this process: real bytes, no network."""

    def __init__(self, folder: Path, trace: Trace) -> None:
        self._endpoints = {name: ClientEndpoint(folder / name, name, "study") for name in CLIENTS}
        self._trace = trace
        self.until_first_answer = 0  # calls of the traced round

    def clients(self) -> list[str]:
        """Names of all clients."""
        return list(self._endpoints)

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        """Each client's answer."""
        for client in clients:
            answer = self._endpoints[client].answer(request, "coordinator")
            self.until_first_answer = self.until_first_answer or len(self._trace.calls)
            yield client, answer


def write_files(folder: Path) -> None:
    """Each client's rows, and the client.toml that a study across machines needs."""
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 10.0], [5.0, 20.0], [9.0, 2.0]])
    for name in CLIENTS:
        (folder / name).mkdir()
        table = rng.normal(centers[rng.integers(3, size=ROWS)], 3.0)
        lines = [",".join(COLUMNS), *(",".join(map(repr, values)) for values in table.tolist())]
        (folder / name / "rows.csv").write_text("\n".join(lines) + "\n")
        (folder / name / "client.toml").write_text('[data]\nfile = "rows.csv"\n[consent]\n')


def trace_study(folder: Path) -> dict[str, float]:
    """A study in one process, from its file to the report."""
    (folder / "study.toml").write_text(PLAIN)
    run_study(read_study(folder / "study.toml"), folder / "first")
    trace = Trace()
    trace.start()
    run_study(read_study(folder / "study.toml"), folder / "second")
    trace.stop()
    encodings = trace.count("Column.encode", "Column.encoded") / (len(CLIENTS) * len(COLUMNS))
    return {**trace.numbers(), ENCODED: encodings}


def trace_round(folder: Path, tier: str) -> dict[str, float]:
    """One round across the network, once keys are exchanged and rows are read."""
    (folder / "study.toml").write_text(f'{STUDY}init = "cells"\n[privacy]\ntier = "{tier}"\n')
    study = replace(read_study(folder / "study.toml"), clients={})
    trace = Trace()
    transport = InProcess(folder, trace)

    def on_round(phase: str, plan: Plan, done: Round) -> None:
        trace.stop()
        if plan.algorithm.key == "llf-cm" and not trace.calls:
            transport.until_first_answer = 0  # rows are read now, and keys exchanged
            trace.start()

    remote = RemoteChannel(transport, about={"study": "study"})
    directory = RunDirectory(study, folder / f"across-{tier}", force=False, resume=False)
    carry_out(study, RemotePool(remote), directory, on_round=on_round)
    return {
        **trace.numbers(),
        UNTIL: transport.until_first_answer,
        LOCKS: trace.count("lock") / len(CLIENTS),
    }


def table(title: str, measured: dict[str, float], before: dict[str, float]) -> list[str]:
    """Measured numbers next to those from before."""
    lines = [row(title, "now", "before"), row("---", "---", "---")]
    lines += [row(what, f"{n:,g}", f"{before[what]:,g}") for what, n in measured.items()]
    return [*lines, ""]


def main() -> None:
    """Trace and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        titles = {
            "study": ("a study in one process", trace_study(folder)),
            "masked": ("a masked round across the network", trace_round(folder, "secure")),
            "open": ("an open round across the network", trace_round(folder, "none")),
        }
    for key, (title, measured) in titles.items():
        print("\n".join(table(title, measured, BEFORE[key])))


if __name__ == "__main__":
    main()
