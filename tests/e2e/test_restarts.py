"""What may happen between a study and its continuation, over real processes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from fedclust import __version__

from .processes import CLIENTS, Federation, federation
from .test_faults import LONG, UNDER_WAY, history, same_result
from .test_secure_faults import UNDER_WAY as FOLLOWED
from .test_secure_faults import secure_study, slow_client

pytestmark = pytest.mark.e2e

END = 300.0  # seconds; far more than any of these studies takes
CHANGED = "west: refused: its data changed since the study began"

# A client that was installed from another release.
OTHER_VERSION = """
import fedclust

fedclust.__version__ = "0.0.1"
"""


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


def test_a_study_that_left_out_a_client_continues_after_its_server_died(fed: Federation) -> None:
    """The client is back as well, and takes part again."""
    study = fed.write_study(LONG, k=7, min_clients=2)
    clients = {name: slow_client(fed, name) for name in CLIENTS}
    server = fed.server(study)
    server.says(UNDER_WAY)
    clients["west"].kill()
    server.says(r"west: (cannot be reached|no sign of life)")
    server.kill()
    slow_client(fed, "west")
    again = fed.server(study, "--resume", "--grace", "30")
    assert again.ends(END) == 0, again.said()
    assert "the run continues from its last saved round" in again.said()
    counts = [line["n_clients"] for line in history(fed.folder / "study-run")]
    assert counts[0] == 3
    assert 2 in counts
    assert counts[-1] == 3


@pytest.mark.parametrize("tier", ["none", "secure"])
def test_data_that_changed_before_the_continuation_are_noticed(tier: str, fed: Federation) -> None:
    """The study ends with a sentence, and with the old data it has the old result."""
    followed = tier == "secure"
    study = secure_study(fed) if followed else fed.write_study(LONG, k=7)
    for name in CLIENTS:
        slow_client(fed, name)
    server = fed.server(study)
    server.says(FOLLOWED if followed else UNDER_WAY)
    server.kill()
    file = fed.kit("west") / "people.csv"
    before = file.read_text()
    file.write_text(before.replace("west0,", "west0,1", 1))
    changed = fed.server(study, "--resume")
    assert changed.ends(END) == 1, changed.said()
    assert CHANGED in changed.said()
    assert "restore them and continue with --resume" in changed.said()
    assert not (fed.folder / "study-run").exists()
    file.write_text(before)
    restored = fed.server(study, "--resume")
    assert restored.ends(END) == 0, restored.said()
    assert same_result(fed, study)


def test_a_client_of_another_version_is_named_before_the_first_round(fed: Federation) -> None:
    study = secure_study(fed)
    folder = fed.folder / "other"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(OTHER_VERSION)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    fed.client("north")
    fed.client("south")
    west = fed.client("west", env={"PYTHONPATH": path})
    server = fed.server(study)
    assert server.ends(END) == 1, server.said()
    says = f"the server runs fedclust {__version__}, this client 0.0.1"
    assert f"west: refused: {says}" in server.said()
    assert "llf-fcm, round" not in server.said()
    west.says(says)
