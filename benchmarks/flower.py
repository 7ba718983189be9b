"""``python -m benchmarks.flower``: seconds per round over Flower, with fedclust and with nothing.

Real processes on this machine: a SuperLink over TLS and two SuperNodes with keys. The null app does
what any app must: a message out, a process, a message back. Both take turns.
"""

import importlib
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from fedclust.federation.flower.folder import write_app

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


def write(folder: Path, code: str, *, own_client: bool) -> Path:
    """An app whose server is the code, and whose client is fedclust's or the code's own."""
    app = folder / ("null" if own_client else "plan")
    write_app(app, {"study": "/none", "out": str(folder / f"{app.name}.json")})
    (app / "measured.py").write_text(code.format(rounds=ROUNDS))
    project = (app / "pyproject.toml").read_text()
    project = project.replace("fedclust.federation.flower.server:app", "measured:server")
    if own_client:
        project = project.replace("fedclust.federation.flower.client:app", "measured:client")
    (app / "pyproject.toml").write_text(project.replace("fedclust-study", f"measured-{app.name}"))
    return app


def measured(folder: Path) -> dict[str, list[float]]:
    """Seconds of every round, by app."""
    sys.path.insert(0, str(TESTS))
    processes: Any = importlib.import_module("e2e.flower_processes")
    apps = [write(folder, _NULL, own_client=True), write(folder, _PLAN, own_client=False)]
    seconds: dict[str, list[float]] = {app.name: [] for app in apps}
    with processes.flower(folder) as made:
        made.start()
        for _ in range(BLOCKS):
            for app in apps:
                made.run(app, 300)
                seconds[app.name] += json.loads((folder / f"{app.name}.json").read_text())[1:]
    return seconds


def table() -> list[str]:
    """A row for each, and their difference."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = measured(Path(folder))
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    lines = [row("per round, two clients", "median", "from", "to", "promise"), row(*["---"] * 5)]
    for name, words in (("null", "an app that does nothing"), ("plan", "LLF-FCM by fedclust")):
        found = seconds[name]
        ends = f"{min(found):.1f} s", f"{max(found):.1f} s"
        lines.append(row(words, f"{medians[name]:.1f} s", *ends, ""))
    more = medians["plan"] - medians["null"]
    lines.append(row("more", f"{more:+.2f} s", "", "", verdict(more, 0.3)))
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
