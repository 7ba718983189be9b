"""Run a client's kit: one process that connects to the server and logs into the kit."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..client.config import CLIENT_FILE, read_client_config
from ..client.identities import IDENTITY, PEERS, read_enrolment, renew_identity
from ..core import ConfigError, FedclustError
from ..core.codec import one_line
from ..core.device import check_device
from .conditions import describe_offset
from .damage import check_files
from .kits import Kit, read_kit
from .system import check_system
from .tail import Tail

OnMessage = Callable[[str], object]
RENEWAL_DAYS = 30  # a certificate that expires sooner should be renewed


def run_client(
    folder: Path, on_message: OnMessage, meanwhile: Callable[[], object] = lambda: None
) -> None:
    """Answer requests until stopped; mistakes in the kit are reported before it connects.

    While the client runs, `meanwhile` is called several times a second.
    """
    if notice := check_system():
        on_message(notice)
    kit = read_kit(folder, "client")
    _prepare(kit, on_message)
    f = kit.federation
    on_message(f"connecting to {f.server}, port {f.port}; log file: {folder}/console.log")
    raise _run_engine(kit, on_message, meanwhile)


def _prepare(kit: Kit, on_message: OnMessage) -> None:
    """Check the kit and its files."""
    folder = kit.folder
    config = read_client_config(folder / CLIENT_FILE)
    files = config.files()
    if config.compute.device == "gpu":
        check_device("gpu")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"no permission to write {folder}: the kit must belong to this user")
    for key in find_readable_keys(folder):
        key.chmod(0o600)  # some programs that unpack a kit ignore file modes
        on_message(f"other users could read {key}; changed its mode to 600")
    check_certificate(kit, on_message)
    check_files(kit)
    if read_enrolment(folder).peers is None:
        on_message(
            f"{PEERS} is missing: this client has to trust the server about the other clients"
        )
    names = ", ".join(str(path) for path in files)
    on_message(f"client {kit.name!r} of {kit.federation.name!r}, data: {names}")


def _run_engine(kit: Kit, on_message: OnMessage, meanwhile: Callable[[], object]) -> FedclustError:
    """Run the engine until it ends, again if the server has to register it again; why it ended."""
    from ..channels.nvflare.causes import find_cause, log_size
    from ..channels.nvflare.logs import Tidying
    from ..channels.nvflare.process import client_command, running, wait
    from ..channels.nvflare.signs import AGAIN, NOTICES

    folder = kit.folder
    start, notices = log_size(folder), Tail(folder / NOTICES)

    def look() -> None:
        meanwhile()
        for line in notices.read_new():
            on_message(explain_notice(line))

    while True:
        with running(client_command(folder, kit.name), folder, alone=False) as process:
            code = wait(process, Tidying(folder, look))
        if code != AGAIN:
            break
        on_message("the server does not answer this client any more; connecting again")
    cause = find_cause(folder, kit.name, start)
    return FedclustError(
        cause or f"the client process ended with status {code}; see the end of {folder}/console.log"
    )


def explain_notice(line: Mapping[str, Any]) -> str:
    """What the server says about this client; raise if it refuses it."""
    from ..channels.nvflare.causes import RUNS_ELSEWHERE
    from ..channels.nvflare.signs import CLOCK, TWICE

    if line.get("what") == TWICE and line.get("refused"):
        raise FedclustError(RUNS_ELSEWHERE)
    if line.get("what") == TWICE:
        return (
            f"the server refused a second machine (address {one_line(str(line.get('address')))}) "
            "that uses a copy of this kit; if it is not yours, tell the coordinator"
        )
    if line.get("what") == CLOCK:
        offset = describe_offset(float(line.get("seconds", 0.0)))
        return f"the clock of this machine is {offset} the server's; set it, or logs will be wrong"
    return f"the server says: {one_line(str(line.get('what')))}"


def change_identity(folder: Path, on_message: OnMessage) -> None:
    """Make a new identity that only this client knows, and explain what the others need."""
    kit = read_kit(folder, "client")
    public = renew_identity(folder, kit.name)
    on_message(f"Wrote a new secret key to {folder / IDENTITY}; keep it there. The public key:")
    on_message(f'"{kit.name}": "{public.hex()}"')
    on_message(
        f"Send this line to the coordinator, not through the server, to be put into the {PEERS} of "
        f"all clients. Until they update {PEERS}, other clients will reject any cohort that "
        "includes you."
    )


def find_readable_keys(folder: Path) -> list[Path]:
    """Secret keys of a kit that users other than the owner can read."""
    secrets = [*sorted((folder / "startup").glob("*.key")), folder / IDENTITY]
    return [key for key in secrets if key.exists() and key.stat().st_mode & 0o077]


def check_certificate(kit: Kit, on_message: OnMessage) -> None:
    """Report a certificate that expires soon, and raise if it is not usable.

    A connection that fails because of a certificate does not say so.
    """
    from ..channels.nvflare.certificates import days_left

    startup = kit.folder / "startup"
    try:
        days = days_left(startup, kit.role, kit.name)
    except (OSError, ValueError) as error:
        raise ConfigError(f"the certificate in {startup} is not usable: {error}") from None
    if days < RENEWAL_DAYS:
        on_message(
            f"the certificate in {startup} expires in {days} days; ask the coordinator for a "
            "renewal"
        )
