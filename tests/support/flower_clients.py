"""Clients behind a grid that is only pretended."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flwr", reason="studies over Flower need fedclust[flower]")
from flwr.app import Context, RecordDict

from fedclust import __version__
from fedclust.channels import Incident, RemoteChannel
from fedclust.channels.flower.server import GridTransport
from fedclust.client.codec import encode
from fedclust.client.requests import Preflight
from fedclust.deploy.flower.server import app as server

from .flower_grid import RUN, FakeGrid
from .in_process import NAMES, write_kits

_KIND, _HEADER, _ARRAYS = encode(Preflight(None, "llf-fcm"))
PREFLIGHT = _KIND, {**_HEADER, "version": __version__}, _ARRAYS


def grid_of(folder: Path, consent: str = "") -> FakeGrid:
    write_kits(folder, consent)
    return FakeGrid.of([folder / name for name in NAMES])


def met(grid: FakeGrid) -> GridTransport:
    transport = GridTransport(grid, poll=0.001)
    assert transport.wait(len(NAMES), 5.0, 0.0) == list(NAMES)
    return transport


def asked(
    grid: FakeGrid, seconds: float = 60.0, **how: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    """Who answers a preflight, and what is on record for the others."""
    incidents: list[Incident] = []
    transport = met(grid)
    grid.spoil, spoil = how.pop("spoil", grid.spoil), grid.spoil
    remote = RemoteChannel(
        transport, about={"study": "s"}, deadline=seconds, record=incidents.append, **how
    )
    answers = remote.send(*PREFLIGHT)
    grid.spoil = spoil
    return answers, {incident.client: incident.what for incident in incidents}


def run_app(grid: FakeGrid, study: Path, **config: Any) -> None:
    """The ServerApp as Flower runs it."""
    whole = {"study": str(study), "grace": 0.0, "deadline": 5.0, **config}
    server(grid=grid, context=Context(RUN, 1, {}, RecordDict(), whole))
