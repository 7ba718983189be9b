"""``python -m benchmarks.federation``: seconds of a study over real processes and mutual TLS."""

import contextlib
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil

FEDCLUST = [sys.executable, "-m", "fedclust"]
STUDY = """
[clustering]
algorithm = "llf-fcm"
n_clusters = 7
fuzzifier = 1.5
max_rounds = 200
tol = 0.0
[participation]
min_clients = {n}
[privacy]
tier = "none"
"""


def main(n_clients: int = 3, n_rows: int = 500, n_features: int = 8) -> None:
    """Provision, connect, run two hundred rounds; print what took how long."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        names = [f"client{i}" for i in range(n_clients)]
        _write(names, n_rows, n_features)
        before = time.perf_counter()
        _fedclust("provision", "federation.toml", "--out", "kits")
        print(f"provision: {time.perf_counter() - before:.1f} s")
        for name in names:
            Path(f"{name}.csv").rename(f"kits/clients/{name}/data.csv")
        with contextlib.ExitStack() as stack:
            for name in names:
                stack.enter_context(_client(name))
            time.sleep(5)  # so that their start does not count
            before = time.perf_counter()
            _fedclust("server", "study.toml", "--kits", "kits", "--grace", "0")
            print(f"server command, start to end: {time.perf_counter() - before:.1f} s")
        _report(Path(f"kits/clients/{names[0]}/disclosures.jsonl"), n_clients)


def _write(names: list[str], n_rows: int, n_features: int) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    clients = "".join(f'{name} = "{name}"\n' for name in names)
    Path("federation.toml").write_text(
        f'[federation]\nname = "bench"\nserver = "localhost"\nport = {port}\n'
        f'coordinator = "ana@example.org"\n[clients]\n{clients}'
    )
    Path("study.toml").write_text(STUDY.format(n=len(names)))
    rng = np.random.default_rng(0)
    for name in names:
        head = ",".join(f"x{i}" for i in range(n_features))
        rows = rng.normal(size=(n_rows, n_features))
        np.savetxt(f"{name}.csv", rows, delimiter=",", header=head, comments="")


def _fedclust(*words: str) -> None:
    subprocess.run([*FEDCLUST, *words], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def _client(name: str) -> Iterator[None]:
    words = [*FEDCLUST, "client", f"kits/clients/{name}"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield
        family = psutil.Process(process.pid).children(recursive=True)
        memory = sum(p.memory_info().rss for p in family) / 2**20
        print(f"{name}: {memory:.0f} MB resident when idle")
    finally:
        process.terminate()
        process.wait(timeout=30)


def _report(log: Path, n_clients: int) -> None:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    when = [datetime.fromisoformat(x["when"]) for x in lines if x.get("plan") == "llf-fcm"]
    gaps = [(b - a).total_seconds() for a, b in pairwise(when)]
    print(f"a round of {n_clients} clients: {np.median(gaps):.3f} s (median of {len(gaps)})")
    sizes = [x["bytes"] for x in lines if x.get("plan") == "llf-fcm"]
    print(f"a message of a round: {sizes[0]} bytes")
    phases = re.sub(r"\s+", " ", ", ".join(sorted({x.get("plan", x["kind"]) for x in lines})))
    print(f"messages of: {phases}")


if __name__ == "__main__":
    main()
