"""How a running federation stands, as its server tells the coordinator."""

from pathlib import Path
from typing import Any

from ..core import FedclustError
from .kits import read_kit


def federation_status(kits: Path) -> dict[str, Any]:
    """Connected clients with the seconds since they were heard, and the server's jobs."""
    from ..channels.nvflare.session import NoServer, Session

    admin = read_kit(kits / "admin", "admin")
    try:
        with Session(admin.folder, admin.name, seconds=1.0) as session:
            return {"clients": session.heard(), "jobs": session.jobs()}
    except NoServer:
        where = f"{admin.federation['server']}, port {admin.federation['port']}"
        raise FedclustError(
            f"no server answers at {where}: it runs while 'fedclust server' runs a study, and "
            f"'fedclust doctor {kits / 'server'}' looks at its kit"
        ) from None
