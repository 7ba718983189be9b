"""Faults of a followed study over real processes: the same bits, or a sentence, in bounded time."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from .processes import CLIENTS, Command, Federation, federation, results_of

pytestmark = pytest.mark.e2e

LONG = 'algorithm = "lossless"\nfuzzy = true\nfuzzifier = 1.5\nmax_rounds = 40\ntol = 0.0'
FEATURES = "[features]\nheight = { low = -10, high = 20 }\nwidth = { low = -10, high = 30 }\n"
UNDER_WAY = r"fcm, round 1\d:"
DEADLINE = 5.0

SLOW = """
import time
from fedclust.client.endpoint import ClientEndpoint

answer = ClientEndpoint.answer

def slow(self, raw, author=""):
    time.sleep(0.15)
    return answer(self, raw, author)

ClientEndpoint.answer = slow
"""


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


def slow_client(fed: Federation, name: str) -> Command:
    """A client whose rounds take long enough for a fault to fall into one."""
    folder = fed.folder / "slow"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(SLOW)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return fed.client(name, env={"PYTHONPATH": path})


def secure_study(fed: Federation) -> Path:
    return fed.write_study(LONG, k=7, privacy='tier = "secure"', features=FEATURES)


def same_result(fed: Federation, study: Path) -> bool:
    return results_of(fed.run_here(study)) == results_of(fed.folder / "study-run")


def test_a_client_that_is_killed_and_started_again_catches_up(fed: Federation) -> None:
    """All clients are needed, and nobody does anything but start the client again."""
    study = secure_study(fed)
    clients = {name: slow_client(fed, name) for name in CLIENTS}
    server = fed.server(study, "--deadline", f"{DEADLINE:g}")
    server.says(UNDER_WAY)
    clients["west"].kill()
    slow_client(fed, "west")
    assert server.ends(180) == 0, server.said()
    assert same_result(fed, study)
