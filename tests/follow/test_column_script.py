"""Studies over split columns: owners hold the server to everything but assignments."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.channels import RemoteChannel
from fedclust.client.endpoint import ClientEndpoint
from fedclust.client.identities import IDENTITY, PEERS, write_peers, write_secret
from fedclust.core import TooFewClients
from fedclust.core.wire import Frame, pack, unpack
from fedclust.follow.endpoint import FollowingEndpoint
from fedclust.follow.relay import RelayPool, StudyText
from fedclust.follow.transcript import Transcript
from fedclust.privacy.crypto import fresh_secret, signing_public
from fedclust.study.pool import RemotePool
from fedclust.study.read import read_study
from fedclust.study.run import carry_out, run_study
from fedclust.study.run_directory import RunDirectory
from fedclust.study.settings import Study

from ..support.in_process import InProcess
from ..support.owners_in_process import (
    OWNERS,
    SECRET,
    SECURE,
    results_of,
    write_owners,
    write_study,
)

pytest.importorskip("cryptography")

CONSENT = 'split_columns = true\nprivacy = "secure"'
RUN = "00aa11bb22cc33dd"
Change = Callable[[Frame], Frame]


def open_owners(folder: Path, consent: str = CONSENT) -> dict[str, ClientEndpoint]:
    """Kits with identities, and endpoints that follow."""
    write_owners(folder, consent)
    secrets = {name: fresh_secret() for name in OWNERS}
    for name, secret in secrets.items():
        write_secret(folder / name / IDENTITY, secret)
        write_peers(folder / name / PEERS, {c: signing_public(s) for c, s in secrets.items()})
    return {name: FollowingEndpoint(folder / name, name, "s") for name in OWNERS}


def follow(study: Study, transport: InProcess, folder: Path) -> None:
    """The study over owners that follow its script."""
    remote = RemoteChannel(
        transport, run=RUN, about={"study": "s"}, quorum=len(OWNERS), deadline=0.1
    )
    text = StudyText(read_study(study.path, files=False), study.path.read_text())
    place = Transcript(folder.with_name("transcript"))
    RelayPool(remote, tuple(OWNERS), text, RUN, place, approval_wait=0.0).open()
    alone = replace(study, clients={})
    directory = RunDirectory(alone, folder, force=False, resume=False)
    carry_out(alone, RemotePool(remote, tuple(OWNERS)), directory)


class Crafting(InProcess):
    """A server that changes some of its requests."""

    def __init__(
        self, sites: dict[str, ClientEndpoint], wanted: Callable[[Frame], bool], change: Change
    ) -> None:
        super().__init__(sites)
        self._wanted, self._change = wanted, change
        self.crafted = 0

    def exchange(self, clients: Sequence[str], request: bytes, seconds: float) -> Any:
        frame = unpack(request)
        if self._wanted(frame):
            self.crafted += 1
            request = pack(*self._change(frame))
        return super().exchange(clients, request, seconds)


def is_clustering(frame: Frame) -> bool:
    return frame.header.get("algorithm") == "VerticalCMeans"


def with_setting(name: str, value: Any) -> Change:
    def change(frame: Frame) -> Frame:
        settings = {**frame.header["settings"], name: value}
        return Frame({**frame.header, "settings": settings}, frame.arrays)

    return change


def with_header(name: str, value: Any) -> Change:
    return lambda frame: Frame({**frame.header, name: value}, frame.arrays)


@pytest.mark.parametrize("clustering", ["", "fuzzy = true", 'init = "records"\nn_init = 2'])
def test_a_study_whose_script_is_followed_is_the_study_in_one_process(
    clustering: str, tmp_path: Path
) -> None:
    sites = open_owners(tmp_path)
    study = write_study(tmp_path, f'algorithm = "lossless"\n{clustering}', more=SECURE)
    run_study(study, tmp_path / "here", secret=SECRET)
    follow(study, InProcess(sites), tmp_path / "there")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")


def without_masks(frame: Frame) -> Frame:
    kept = [t for t in frame.header["transforms"] if t[0] != "PairwiseMasks"]
    return Frame({**frame.header, "transforms": kept}, frame.arrays)


@pytest.mark.parametrize(
    "change",
    [
        with_setting("n_clusters", 2),
        with_setting("max_rounds", 10_000),
        with_setting("tol", 0.5),
        with_header("seed", 7),
        with_header("round", 5_000),
        without_masks,
    ],
)
def test_a_plan_that_is_not_the_studys_ends_the_study_at_an_owner(
    change: Change, tmp_path: Path
) -> None:
    study = write_study(tmp_path, more=SECURE)
    sites = open_owners(tmp_path)
    transport = Crafting(sites, is_clustering, change)
    with pytest.raises(TooFewClients, match="not part of the study|does not fit|shape"):
        follow(study, transport, tmp_path / "there")
    assert transport.crafted
    with pytest.raises(TooFewClients):  # they have left, and do not come back
        follow(study, InProcess(sites), tmp_path / "again")


def test_a_round_has_one_assignment(tmp_path: Path) -> None:
    """A second assignment in the place of a first would be another question."""
    study = write_study(tmp_path, more=SECURE)
    sites = open_owners(tmp_path)
    kept: list[Frame] = []

    def note(frame: Frame) -> Frame:
        kept.append(frame)
        return frame

    follow(study, Crafting(sites, is_clustering, note), tmp_path / "there")
    (name,) = [n for n in kept[0].arrays if n.startswith("down.") and "label" in n]
    labels = np.roll(kept[0].arrays[name], 1)
    again = pack(kept[0].header, {**kept[0].arrays, name: labels})
    answer = unpack(sites["bank"].answer(again, "coordinator"))
    assert answer.header["kind"] == "refusal"
    assert answer.header["code"] == "study"
    assert "answered before, with another assignment" in answer.header["why"]


def test_without_an_opening_nothing_is_answered(tmp_path: Path) -> None:
    """The same requests, to owners that have not seen the study."""
    study = write_study(tmp_path, more=SECURE)
    remote = RemoteChannel(InProcess(open_owners(tmp_path)), run=RUN, about={"study": "s"})
    alone = replace(study, clients={})
    directory = RunDirectory(alone, tmp_path / "run", force=False, resume=False)
    with pytest.raises(TooFewClients, match="answers only studies that clients can follow"):
        carry_out(alone, RemotePool(remote, tuple(OWNERS)), directory)
