"""Who the clients are, as told at enrolment and not by the server.

Masks are as good as the knowledge of whom one hides among. A kit holds the client's own secret
(`identity.key`), with which it signs its keys of every run, and everybody's public identities
(`peers.json`), which came with the kit. Without them the server is believed about who the others
are, and could pose as all of them.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..core import ConfigError
from ..core.files import write_text
from ..privacy.crypto import KEY_BYTES, fresh_secret, signing_public
from ..privacy.keyring import stored_identity

IDENTITY, PEERS = "identity.key", "peers.json"

Peers = Mapping[str, bytes]


class Enrolment(NamedTuple):
    """A client's secret identity and everybody's public ones; None where there is no file."""

    identity: bytes | None
    peers: Peers | None


def read_enrolment(kit: Path) -> Enrolment:
    """What a kit says of its client and the others."""
    secret, peers = kit / IDENTITY, kit / PEERS
    known = read_peers(peers) if peers.exists() else None
    if not secret.exists():
        if known is not None:
            raise ConfigError(
                f"{secret} is missing, and the others know this client by it: put it back, or make "
                "another with 'fedclust client KIT --new-identity'"
            )
        return Enrolment(None, None)
    try:
        return Enrolment(stored_identity(secret), known)
    except OSError as problem:
        raise ConfigError(f"{secret}: not readable ({problem.strerror})") from None


def new_identity(kit: Path, name: str) -> bytes:
    """Make a client another identity, which its own list then has; the public half."""
    secret = fresh_secret()
    public = signing_public(secret)
    write_secret(kit / IDENTITY, secret)
    if (kit / PEERS).exists():
        write_peers(kit / PEERS, {**read_peers(kit / PEERS), name: public})
    return public


def write_secret(path: Path, secret: bytes) -> None:
    """Write an identity as a file that only its owner can read, at any moment."""
    write_text(path, secret.hex() + "\n", mode=0o600)


def public_identity(kit: Path) -> bytes | None:
    """The public half of a kit's identity; None if it has none."""
    return signing_public(stored_identity(kit / IDENTITY)) if (kit / IDENTITY).exists() else None


def read_peers(path: Path) -> dict[str, bytes]:
    """Public identities by client."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        peers = {str(name): bytes.fromhex(identity) for name, identity in found.items()}
    except (OSError, ValueError, TypeError, AttributeError) as problem:
        raise ConfigError(f"{path}: not readable ({problem}); ask for a new one") from None
    for name, identity in peers.items():
        if len(identity) != KEY_BYTES:
            raise ConfigError(
                f"{path}: the identity of {name!r} must be {2 * KEY_BYTES} hexadecimal digits"
            )
    return peers


def write_peers(path: Path, peers: Peers) -> None:
    """The same as a file, a line for each client."""
    listed = {name: peers[name].hex() for name in sorted(peers)}
    write_text(path, json.dumps(listed, indent=1) + "\n")


def fingerprint(peers: Peers) -> str:
    """What two people read to each other to see that their lists are the same.

    128 bits, so that nobody can make two lists that have the same.
    """
    found = hashlib.sha256()
    for name in sorted(peers):
        found.update(f"{name} {peers[name].hex()}\n".encode())
    digits = found.hexdigest()[:32]
    return " ".join(digits[i : i + 4] for i in range(0, 32, 4))
