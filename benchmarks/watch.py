"""What the page of `fedclust watch` costs: 100 clients, 300 rounds, one browser that watches.

`python -m benchmarks.watch [clients] [rounds] [rounds a second]` prints the share of a core and the
largest memory of the page's process while a run across machines writes its progress.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fedclust.progress import PROGRESS, federation_folder

CENTRES = 10


def main() -> None:
    """Print the measured values."""
    given = [int(word) for word in sys.argv[1:4]]
    n_clients, n_rounds, rate = given + [100, 300, 5][len(given) :]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        federation_folder(folder).mkdir()
        path = federation_folder(folder) / PROGRESS
        path.write_text("")
        command = [sys.executable, "-m", "fedclust", "watch", str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as page:
            assert page.stdout is not None
            address = page.stdout.readline().split()[0]
            reader = Reader(address)
            time.sleep(1.0)
            before, start = cpu_seconds(page.pid), time.monotonic()
            write_run(path, [f"site-{i:03d}" for i in range(n_clients)], n_rounds, 1 / rate)
            seconds = time.monotonic() - start
            share = (cpu_seconds(page.pid) - before) / seconds
            memory = peak_memory(page.pid)
            page.kill()
    print(f"{n_clients} clients, {n_rounds} rounds in {seconds:.0f} s")
    print(f"CPU of the page: {share:.1%} of one core")
    print(f"Memory of the page, at most: {memory / 1e6:.0f} MB")
    print(f"Events that the browser got: {reader.events}, {reader.size / 1e6:.1f} MB")


class Reader:
    """Reads the events, as a browser does."""

    def __init__(self, address: str) -> None:
        self.events = self.size = 0
        found = urlsplit(address)
        self._connection = http.client.HTTPConnection("127.0.0.1", found.port or 0)
        self._connection.request("GET", f"{found.path}events")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._connection.getresponse():
            self.size += len(line)
            self.events += line.startswith(b"data:")


def write_run(path: Path, names: list[str], n_rounds: int, seconds: float) -> None:
    """Write the progress of a run, as the server of a federation does."""

    def write(**entry: Any) -> None:
        line = {"when": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}
        file.write(json.dumps(line) + "\n")

    with open(path, "a", encoding="utf-8", buffering=1) as file:
        write(begin={"study": "load", "process": os.getpid(), "clients": names, "max_rounds": 300})
        for number in range(n_rounds):
            write(asked={"clients": names, "kind": "llf-cm", "number": number})
            for name in names:
                write(answer=name)
            places = [
                [round(0.01 * number + c, 3), round(0.02 * number, 3)] for c in range(CENTRES)
            ]
            size = {"sent": 1000, "received": 512 * len(names)}
            first = {"from": dict.fromkeys(names, 512)} if number == 0 else {}
            place = {"phase": "clustering", "plan": "llf-cm", "round": number}
            write(**place, **size, **first, answers=len(names), shift=0.99**number, places=places)
            time.sleep(seconds)


def cpu_seconds(process: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(process: int) -> int:
    """The largest resident memory of a process, in bytes."""
    text = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(text.split("VmHWM:")[1].split()[0])


if __name__ == "__main__":
    main()
