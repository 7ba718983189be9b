"""What clients say for themselves is not the study's to say, and their labels are theirs."""

import re
from pathlib import Path

import pytest

from fedclust.core import ConfigError

from .test_coordinator import STUDY, Pretended, run
from .test_coordinator import server as server


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            '[data]\nid = "person"\n',
            r"\[data\] id has no meaning across machines: each client.toml",
        ),
        ('[data]\ngaps = ["-"]\n', r"\[data\] gaps has no meaning across machines"),
        ("[data]\nbatch_rows = 9\n", r"\[data\] batch_rows has no meaning across machines"),
        ('labels_in = "data"\n', "labels stay with each client; take it out"),
        ('labels = "parquet"\n', 'clients on other machines write "csv", or "none"'),
    ],
)
def test_keys_that_only_clients_can_set_are_refused(
    tmp_path: Path, server: Pretended, lines: str, words: str
) -> None:
    """Even if they say what is the default: who writes them expects that they do something."""
    with pytest.raises(ConfigError, match=rf"s.toml: .*{words}"):
        run(tmp_path, STUDY + lines)
    assert server.jobs == []


def test_labels_of_every_run_are_kept(tmp_path: Path, server: Pretended) -> None:
    run(tmp_path)
    run(tmp_path, force=True)
    labels = sorted((tmp_path / "sites" / "west" / "labels").iterdir())
    assert len(labels) == 2
    assert all(re.fullmatch(r"s-[0-9a-f]{8}\.csv", file.name) for file in labels)
    assert labels[0].read_text() == labels[1].read_text()
    run(tmp_path, STUDY + 'labels = "none"\n', force=True)
    assert len(list((tmp_path / "sites" / "west" / "labels").iterdir())) == 2
