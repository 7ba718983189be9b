"""Revoke a client: its certificate and its identity are refused from then on.

The server refuses the name that the certificate proves; the other clients refuse the identity,
because it is no longer in peers.json. The name is not given to another kit.
"""

import shutil
from pathlib import Path
from typing import NamedTuple

from ..client.identities import PEERS, read_peers, write_peers
from ..core import ConfigError
from .federation_file import Federation

REVOKED = "revoked"  # folder for what the coordinator still has of revoked kits


class Revoked(NamedTuple):
    """What the coordinator has to hand out after a revocation."""

    refused: Path  # the server's list of refused clients
    peers: Path
    others: list[str]  # clients that need the new peers.json
    listed: bool  # whether federation.toml still names the client


def revoke(federation: Federation, folder: Path, client: str) -> Revoked:
    """Refuse a client from now on, and keep the rest of its kit in `revoked/`."""
    from ..channels.nvflare.provision import refuse_client

    if not (folder / PEERS).exists():
        raise ConfigError(f"{folder} has no kits; name the folder of the kits with --out")
    server, peers = folder / "server", read_peers(folder / PEERS)
    if client not in peers and not (folder / "clients" / client).exists():
        known = ", ".join(sorted(peers)) or "none"
        raise ConfigError(f"{folder} has no client {client!r}; its clients are: {known}")
    if not server.is_dir():
        raise ConfigError(f"{server} is missing: the server's kit keeps the list of refused kits")
    refused = refuse_client(server, client)
    peers.pop(client, None)
    for place in (folder, folder / "admin"):
        if place.is_dir():
            write_peers(place / PEERS, peers)
    kept = folder / REVOKED / client
    kept.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in (client, f"{client}.zip", f"{client}-renewal.zip"):
        if (old := folder / "clients" / name).exists():
            shutil.move(old, kept / name)
    return Revoked(refused, folder / PEERS, sorted(peers), client in federation.clients)


def refuse_revoked(federation: Federation, folder: Path) -> None:
    """Raise if the federation file names a client that was revoked."""
    from ..channels.nvflare.provision import read_refused

    for client in read_refused(folder / "server"):
        if client in federation.clients:
            raise ConfigError(
                f"{federation.path}: client {client!r} was revoked; delete its line, or give a "
                "kit with another name, because the server refuses this one"
            )
