"""How a running federation stands, as its server tells the coordinator."""

from pathlib import Path
from typing import Any

from .kits import read_kit


def federation_status(kits: Path) -> dict[str, Any]:
    """Connected clients with the seconds since they were heard, and the server's jobs."""
    from ..channels.nvflare.session import Session

    admin = read_kit(kits / "admin", "admin")
    with Session(admin.folder, admin.name, seconds=1.0) as session:
        return {"clients": session.heard(), "jobs": session.jobs()}
