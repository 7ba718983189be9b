"""A study across machines: sums that no rows can have are left out, on record, and harmless."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.channels import Incident, RemoteChannel
from fedclust.core.wire import pack, unpack
from fedclust.study import read_study

from ..support.in_process import InProcess, run_across, write_kits

STUDY = """
[clustering]
algorithm = "{algorithm}"
n_clusters = 3
init = "uniform"
[features]
height = {{ low = -9, high = 34 }}
width = {{ low = -9, high = 34 }}
[sampling]
min_clients = 2
[privacy]
tier = "none"
"""
Change = Callable[[dict[str, Any]], dict[str, Any]]


def lying(change: Change) -> Any:
    """West's answers to rounds of the clustering, changed from the third on."""
    seen: list[int] = []

    def spoil(number: int, client: str, raw: bytes) -> bytes:
        header, arrays = unpack(raw)
        if client != "west" or "total" not in arrays or arrays["total"].shape != (3, 2):
            return raw
        if "square" in arrays or "entropy" in arrays:  # the profile's
            return raw
        seen.append(number)
        return pack(header, {**arrays, **change(arrays)}) if len(seen) > 2 else raw

    return spoil


@pytest.mark.parametrize(
    ("algorithm", "change", "says"),
    [
        ("llf-cm", lambda a: {"weight": -a["weight"]}, "negative"),
        ("llf-cm", lambda a: {"total": a["total"] + 1e6}, "outside the public bounds"),
        ("llf-cm", lambda a: {"weight": a["weight"] * 3, "total": a["total"] * 3}, "more records"),
        ("llf-cm", lambda a: {"weight": a["weight"] / 2, "total": a["total"] / 2}, "other records"),
        ("llf-cm", lambda a: {"total": a["total"] * 0.9}, "changed since its first round"),
        ("llf-fcm", lambda a: {"weight": a["weight"] / 9, "total": a["total"] / 9}, "less than"),
    ],
)
def test_who_sends_the_impossible_is_left_out_of_the_study(
    algorithm: str, change: Change, says: str, tmp_path: Path
) -> None:
    noted: list[Incident] = []
    transport = InProcess(write_kits(tmp_path), lying(change))
    remote = RemoteChannel(transport, about={"study": "s"}, quorum=2, record=noted.append)
    (tmp_path / "s.toml").write_text(STUDY.format(algorithm=algorithm))
    study = read_study(tmp_path / "s.toml", files=False)
    done = run_across(study, remote, tmp_path / "run")
    assert [i.client for i in noted] == ["west"]
    assert says in noted[0].what
    assert "left out from now on" in noted[0].what
    reported = json.loads((done.folder / "profile.json").read_text())
    rounds = {c["name"]: c["rounds"] for c in reported["clients"]}
    assert rounds["west"] == 2 < rounds["north"]
    assert np.isfinite(done.model.centers).all()


def test_honest_clients_are_left_in(tmp_path: Path) -> None:
    for algorithm in ("llf-cm", "llf-fcm", "ffcm-avg1", "dwf"):
        noted: list[Incident] = []
        transport = InProcess(write_kits(tmp_path / algorithm))
        remote = RemoteChannel(transport, about={"study": "s"}, quorum=3, record=noted.append)
        (tmp_path / "s.toml").write_text(STUDY.format(algorithm=algorithm))
        run_across(
            read_study(tmp_path / "s.toml", files=False), remote, tmp_path / f"{algorithm}-run"
        )
        assert noted == []
