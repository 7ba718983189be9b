"""``python -m benchmarks.flower``: seconds per round over Flower, with fedclust and with nothing.

Real processes on this machine: a SuperLink over TLS and two SuperNodes with keys. The null app does
what any app must: a message out, a process, a message back. All take turns: nothing, fedclust as
``fedclust[flower]`` installs it, and with ``fedclust[fast]``, which loads numba in every process.
CPU seconds of one client's process, imports and one answer, are beside them: those are not noisy.
"""

import importlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from fedclust.algorithms import make
from fedclust.core import Plan, Request, Schema
from fedclust.core.codec import encode_request
from fedclust.deploy.flower.folder import write_app

from .timing import row, verdict

BLOCKS, ROUNDS = 4, 6  # of each, and the first round of a block does not count
TESTS = Path(__file__).parent.parent / "tests"

_NULL = """
import json, time
from flwr.app import Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

client = ClientApp()
server = ServerApp()


@client.query()
def reply(message, context):
    return Message(RecordDict(), reply_to=message)


def ask(grid, nodes):
    waiting = set(grid.push_messages([Message(RecordDict(), n, "query", ttl=60) for n in nodes]))
    while waiting:
        for reply in grid.pull_messages(list(waiting)):
            waiting.discard(reply.metadata.reply_to_message_id)
        time.sleep(0.25 if waiting else 0.0)


@server.main()
def main(grid, context):
    while len(nodes := list(grid.get_node_ids())) < 2:
        time.sleep(0.25)
    seconds = []
    for _ in range({rounds}):
        start = time.perf_counter()
        ask(grid, nodes)
        seconds.append(time.perf_counter() - start)
    open(context.run_config["out"], "w").write(json.dumps(seconds))
"""

_WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None  # as if not installed
from fedclust.deploy.flower.client import app

client = app  # Flower looks for an assignment
"""

_PLAN = """
import json, time
import numpy as np
from fedclust.algorithms import make
from fedclust.channels import RemoteChannel
from fedclust.channels.flower.server import server_app
from fedclust.core import Plan, Schema, rounds


def main(transport, config):
    transport.wait(2, 60.0, 0.0)
    columns = [{{"name": n, "categories": []}} for n in ("height", "width")]
    plain = {{"offset": [0.0, 0.0], "scale": [1.0, 1.0], "fill": None, "columns": columns}}
    remote = RemoteChannel(transport, about={{"study": "benchmark"}}, quorum=2)
    init = np.array([[1.0, 9.0], [4.0, 18.0], [8.0, 4.0]])
    plan = Plan(make("llf-fcm", 3, init=init, max_rounds={rounds}, tol=0.0))
    seconds, start = [], time.perf_counter()
    for _ in rounds(plan, remote.over({{"preparation": plain}}, Schema(2)), Schema(2)):
        now = time.perf_counter()
        seconds.append(now - start)
        start = now
    open(config["out"], "w").write(json.dumps(seconds))


server = server_app(main)
"""


APPS = {  # the server's code, the client's (none: fedclust's own), and what it is
    "null": (_NULL, "", "an app that does nothing"),
    "plan": (_PLAN, _WITHOUT_NUMBA, "LLF-FCM by fedclust"),
    "fast": (_PLAN, None, "the same with numba"),
}


def write(folder: Path, name: str) -> Path:
    """The folder of an app."""
    server, client, _ = APPS[name]
    app = folder / name
    write_app(app, {"study": "/none", "out": str(folder / f"{name}.json")})
    (app / "measured.py").write_text(server.format(rounds=ROUNDS))
    project = (app / "pyproject.toml").read_text()
    project = project.replace("fedclust.deploy.flower.server:app", "measured:server")
    if client is not None:
        module = "answering" if client else "measured"
        (app / "answering.py").write_text(client)
        own = f"{module}:client"
        project = project.replace("fedclust.deploy.flower.client:app", own)
    (app / "pyproject.toml").write_text(project.replace("fedclust-study", f"measured-{name}"))
    return app


_PROCESS = """
import sys, time
import flwr.app, flwr.clientapp
{before}
if {answers}:
    from pathlib import Path
    from fedclust.deploy.flower.client import app
    from fedclust.client.endpoint import ClientEndpoint
    answer = ClientEndpoint(Path("{kit}"), "north").answer(Path("{kit}/request").read_bytes())
    assert b"refusal" not in answer[:400], answer
print(time.process_time())
"""


def cpu(kit: Path) -> dict[str, float]:
    """CPU seconds of a process that answers one message, by app: the least of a few."""
    (kit / "request").write_bytes(one_request())
    hidden = 'sys.modules["numba"] = None'
    code = {
        "null": _PROCESS.format(before="", answers=False, kit=kit),
        "plan": _PROCESS.format(before=hidden, answers=True, kit=kit),
        "fast": _PROCESS.format(before="", answers=True, kit=kit),
    }
    least = dict.fromkeys(code, float("inf"))
    for _ in range(7):
        for name, text in code.items():
            words = [sys.executable, "-W", "ignore", "-c", text]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            least[name] = min(least[name], float(done.stdout))
    return least


def one_request() -> bytes:
    """A round of LLF-FCM, as it would come over the wire."""
    init = np.array([[1.0, 9.0], [4.0, 18.0], [8.0, 4.0]])
    plan = Plan(make("llf-fcm", 3, init=init))
    columns: list[Any] = [{"name": n, "categories": []} for n in ("height", "width")]
    plain = {"offset": [0.0, 0.0], "scale": [1.0, 1.0], "fill": None, "columns": columns}
    down = plan.algorithm.broadcast(plan.algorithm.start(Schema(2), plan.rng("server", -1)))
    request = Request(0, ("north", "south"), down)
    about = {"study": "benchmark"}
    return encode_request(plan, request, id="/1", about=about, data={"preparation": plain})


def measured(folder: Path) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds of every round, and CPU seconds of a message, by app."""
    sys.path.insert(0, str(TESTS))
    processes: Any = importlib.import_module("e2e.flower_processes")
    apps = {name: write(folder, name) for name in APPS}
    seconds: dict[str, list[float]] = {name: [] for name in apps}
    with processes.flower(folder) as made:
        used = cpu(folder / "north")
        made.start()
        for _ in range(BLOCKS):
            for name, app in apps.items():
                made.run(app, 300)
                seconds[name] += json.loads((folder / f"{name}.json").read_text())[1:]
    return seconds, used


def table() -> list[str]:
    """A row for each, and how much more than nothing it is.

    SuperNodes look for messages every three seconds, so that a round takes some seconds more or
    less by chance. The promise is on CPU seconds, which chance does not touch.
    """
    with tempfile.TemporaryDirectory() as folder:
        seconds, used = measured(Path(folder))
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    n = len(seconds["null"])
    heads = (f"median of {n}", "from", "to", "more", "CPU of a message", "more", "target")
    lines = [row("per round, two clients", *heads), row(*["---"] * 8)]
    for name, (_, _, words) in APPS.items():
        found, busy = seconds[name], f"{used[name]:.2f} s"
        cells = [f"{medians[name]:.1f} s", f"{min(found):.1f} s", f"{max(found):.1f} s"]
        if name == "null":
            lines.append(row(words, *cells, "", busy, "", ""))
            continue
        by_chance = math.hypot(_error(found), _error(seconds["null"]))
        more, more_busy = medians[name] - medians["null"], used[name] - used["null"]
        above = f"{more:+.1f} ± {by_chance:.1f} s", busy, f"{more_busy:+.2f} s"
        lines.append(row(words, *cells, *above, verdict(more_busy, 0.3)))
    return lines


def _error(found: list[float]) -> float:
    """Standard error of a median, as of normal numbers."""
    return 1.25 * statistics.stdev(found) / math.sqrt(len(found))


if __name__ == "__main__":
    print("\n".join(table()))
