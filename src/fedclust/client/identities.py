"""Identities of clients, which are fixed at enrolment and do not depend on the server.

A kit holds the client's secret identity (`identity.key`), which signs its keys in every run, and
the public identities of all clients (`peers.json`). Without them a client would have to trust the
server about who the other clients are, and the server could impersonate all of them.
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
    """A client's secret identity and the public identities of all; None if the file is absent."""

    identity: bytes | None
    peers: Peers | None


def read_enrolment(kit: Path) -> Enrolment:
    """Read the identities in a kit."""
    secret, peers = kit / IDENTITY, kit / PEERS
    known = read_peers(peers) if peers.exists() else None
    if not secret.exists():
        if known is not None:
            raise ConfigError(
                f"{secret} is missing, but other clients expect this identity; restore the file, "
                "or create a new one with 'fedclust client KIT --new-identity'"
            )
        return Enrolment(None, None)
    try:
        return Enrolment(stored_identity(secret), known)
    except OSError as problem:
        raise ConfigError(f"{secret}: not readable ({problem.strerror})") from None


def renew_identity(kit: Path, name: str) -> bytes:
    """Give a client a new identity, also in its own list of peers, and return the public half."""
    secret = fresh_secret()
    public = signing_public(secret)
    write_secret(kit / IDENTITY, secret)
    if (kit / PEERS).exists():
        write_peers(kit / PEERS, {**read_peers(kit / PEERS), name: public})
    return public


def write_secret(path: Path, secret: bytes) -> None:
    """Write an identity to a file that only its user can read, at any moment."""
    write_text(path, secret.hex() + "\n", mode=0o600)


def read_public_identity(kit: Path) -> bytes | None:
    """The public half of a kit's identity; None if the kit has no identity."""
    return signing_public(stored_identity(kit / IDENTITY)) if (kit / IDENTITY).exists() else None


def read_peers(path: Path) -> dict[str, bytes]:
    """Read public identities by client."""
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        peers = {str(name): bytes.fromhex(identity) for name, identity in listed.items()}
    except (OSError, ValueError, TypeError, AttributeError) as problem:
        raise ConfigError(
            f"{path}: not readable ({problem}); ask the coordinator for a new one"
        ) from None
    for name, identity in peers.items():
        if len(identity) != KEY_BYTES:
            raise ConfigError(
                f"{path}: the identity of {name!r} must be {2 * KEY_BYTES} hexadecimal digits"
            )
    return peers


def write_peers(path: Path, peers: Peers) -> None:
    """Write public identities, one line for each client."""
    listed = {name: peers[name].hex() for name in sorted(peers)}
    write_text(path, json.dumps(listed, indent=1) + "\n")


def fingerprint(peers: Peers) -> str:
    """A short digest with which two people can check that their lists are the same.

    It has 128 bits, so nobody can construct two different lists with the same fingerprint.
    """
    listed = hashlib.sha256()
    for name in sorted(peers):
        listed.update(f"{name} {peers[name].hex()}\n".encode())
    digits = listed.hexdigest()[:32]
    return " ".join(digits[i : i + 4] for i in range(0, 32, 4))
