"""What clients say for themselves is not the study's to say, and their labels are theirs."""

import json
import re
from pathlib import Path

import pytest

from ..support.pretended import STUDY, Pretended, run


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('[data]\nid = "person"\n', "[data] id of the study is not used"),
        ('[data]\nna_values = ["-"]\n', "[data] na_values of the study is not used"),
        ("[data]\nbatch_rows = 9\n", "[data] batch_rows of the study is not used"),
        ('[data]\ndecimal = ","\n', "[data] decimal of the study is not used"),
        (
            '[clients]\nwest = { file = "a", decimal = "," }\nnorth = "b"\n',
            "[clients] says how files are read, which is not used",
        ),
        ('labels_in = "data"\n', "labels_in of the study is not used: labels stay with each"),
        ('labels = "parquet"\n', 'clients on other machines write "csv", or "none"'),
    ],
)
def test_keys_that_only_clients_can_set_are_said_to_be_unused(
    tmp_path: Path, server: Pretended, lines: str, words: str
) -> None:
    """The same study was run in one process before: it goes on, and nothing is ignored silently."""
    assert any(words in line.get("message", "") for line in run(tmp_path, STUDY + lines))
    assert len(server.jobs) == 1


def test_labels_of_every_run_are_kept(tmp_path: Path, server: Pretended) -> None:
    run(tmp_path)
    run(tmp_path, force=True)
    labels = sorted((tmp_path / "sites" / "west" / "labels").iterdir())
    assert len(labels) == 2
    assert all(re.fullmatch(r"s-[0-9a-f]{8}\.csv", file.name) for file in labels)
    assert labels[0].read_text() == labels[1].read_text()
    run_id = json.loads((tmp_path / "run" / "model.json").read_text())["run_id"]
    assert f"s-{run_id}.csv" in {file.name for file in labels}  # the server's name of the run
    run(tmp_path, STUDY + 'labels = "none"\n', force=True)
    assert len(list((tmp_path / "sites" / "west" / "labels").iterdir())) == 2
