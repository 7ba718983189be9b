"""Run a client's kit: one process that connects out, and whose words are in the kit's log."""

from collections.abc import Callable
from pathlib import Path

from ..core import FedclustError
from .client_file import CLIENT_FILE, read_client_file
from .kits import read_kit

Say = Callable[[str], object]


def run_client(folder: Path, say: Say) -> None:
    """Answer until ended; mistakes in client.toml are said before anything is connected."""
    from ..channels.nvflare.process import client_command, running, wait

    kit = read_kit(folder, "client")
    file = read_client_file(folder / CLIENT_FILE)
    files = file.files()
    f = kit.federation
    say(f"client {kit.name!r} of {f['name']!r}: {', '.join(str(p) for p in files)}")
    say(f"connecting to {f['server']}, port {f['port']}; its words are in {folder}/console.log")
    with running(client_command(folder, kit.name), folder) as process:
        code = wait(process)
    raise FedclustError(
        f"the client's process ended with status {code}; the end of {folder}/console.log says why"
    )
