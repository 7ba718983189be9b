"""Run a client's kit: one process that connects out, and whose words are in the kit's log."""

import os
from collections.abc import Callable
from pathlib import Path

from ..client.config import CLIENT_FILE, read_client_config
from ..client.identities import IDENTITY, PEERS, read_enrolment, renew_identity
from ..core import ConfigError, FedclustError
from .kits import Kit, read_kit

Say = Callable[[str], object]
FEW_DAYS = 30  # before a certificate ends, its owner is told


def run_client(folder: Path, say: Say) -> None:
    """Answer until ended; mistakes in the kit are said before anything is connected."""
    from ..channels.nvflare.process import client_command, running, wait

    kit = read_kit(folder, "client")
    file = read_client_config(folder / CLIENT_FILE)
    files = file.files()
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"this user cannot write {folder}: the kit must be theirs (chown -R)")
    for key in loose_keys(folder):
        key.chmod(0o600)  # some programs that unpack a kit forget modes
        say(f"others could read {key}: now only its owner can")
    check_certificate(kit, say)
    if read_enrolment(folder).peers is None:
        say(f"there is no {PEERS}: the server is believed about who the other clients are")
    f = kit.federation
    say(f"client {kit.name!r} of {f.name!r}: {', '.join(str(p) for p in files)}")
    say(f"connecting to {f.server}, port {f.port}; its words are in {folder}/console.log")
    with running(client_command(folder, kit.name), folder, alone=False) as process:
        code = wait(process)
    raise FedclustError(
        f"the client's process ended with status {code}; the end of {folder}/console.log says why"
    )


def change_identity(folder: Path, say: Say) -> None:
    """Make an identity that the coordinator has never seen, and say what others need to know."""
    kit = read_kit(folder, "client")
    public = renew_identity(folder, kit.name)
    say(f"A new secret is in {folder / IDENTITY}. It stays there. Its public half is this line:")
    say(f'"{kit.name}": "{public.hex()}"')
    say(
        f"Have it put into the {PEERS} of everybody, over a way that the server has no hand in. "
        "Until they have it, the others refuse to be hidden among clients of which you are one."
    )


def loose_keys(folder: Path) -> list[Path]:
    """Secrets of a kit that others than their owner can read."""
    secrets = [*sorted((folder / "startup").glob("*.key")), folder / IDENTITY]
    return [key for key in secrets if key.exists() and key.stat().st_mode & 0o077]


def check_certificate(kit: Kit, say: Say) -> None:
    """Say that a certificate has ended, or ends soon: a connection that fails does not tell why."""
    from ..channels.nvflare.certificates import days_left

    startup = kit.folder / "startup"
    try:
        days = days_left(startup, kit.role, kit.name)
    except (OSError, ValueError) as problem:
        raise ConfigError(f"the certificate in {startup} is not usable: {problem}") from None
    if days < FEW_DAYS:
        say(f"the certificate in {startup} ends in {days} days: it has to be renewed")
