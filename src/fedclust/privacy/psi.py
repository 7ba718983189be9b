"""Private set intersection: shared ids without a shared secret, through openmined.psi.

Elliptic-curve Diffie-Hellman between two owners: one learns which of its ids the other has too, the
other learns nothing but how many there were. With more owners the first meets the others in turn
with what is left, and so learns which of its ids the first few have too; each of those learns how
many were left when its turn came.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core import ConfigError


def shared_by_psi(ids: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The ids that all owners have, in no particular order."""
    first, *others = sorted(ids, key=lambda owner: (len(ids[owner]), owner))
    mine = list(ids[first])
    for other in others:
        mine = [mine[i] for i in _intersection(mine, list(ids[other]))] if mine else []
    return tuple(mine)


def _intersection(asking: list[str], answering: list[str]) -> list[int]:
    psi = _library()
    client, server = psi.client.CreateWithNewKey(True), psi.server.CreateWithNewKey(True)
    # What crosses: the request, blinded by the client; the answer, blinded twice; the setup.
    request = client.CreateRequest(asking)
    answer = server.ProcessRequest(request)
    setup = server.CreateSetupMessage(1e-9, len(asking), answering, psi.DataStructure.RAW)
    return sorted(client.GetIntersection(setup, answer))


def _library() -> Any:
    try:
        import private_set_intersection.python as psi
    except ImportError:
        raise ConfigError(
            "alignment='psi' needs openmined.psi: pip install 'fedclust[psi]'"
        ) from None
    return psi
