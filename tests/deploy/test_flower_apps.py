"""The app that Flower loads at a client, and the folder that names it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("flwr", reason="studies over Flower need fedclust[flower]")
from flwr.app import Message, RecordDict
from flwr.cli.config_utils import load_and_validate

from fedclust.channels.flower.client import client_app
from fedclust.channels.flower.messages import read_bytes
from fedclust.channels.flower.server import GridTransport
from fedclust.cli import app as cli
from fedclust.core import ConfigError, FedclustError
from fedclust.deploy.flower.folder import read_run_settings, write_app

from ..support.flower_clients import asked, grid_of, run_app
from ..support.flower_grid import FakeGrid
from ..support.in_process import NAMES, write_kits
from ..support.studies import for_machines, write_study


class Odd:
    """A site that does what its maker says."""

    answered = 0

    def __init__(self, answer: Callable[[], Any]) -> None:
        self._answer = answer

    def answer(self, raw: bytes) -> Any:
        return self._answer()


def ends() -> None:
    raise SystemExit(3)


def raises() -> None:
    raise MemoryError("5.31 kg")


@pytest.mark.parametrize("answer", [ends, raises, lambda: None, lambda: "text", lambda: 5])
def test_a_client_that_fails_says_so_in_a_message(
    answer: Callable[[], Any], tmp_path: Path
) -> None:
    write_kits(tmp_path)
    kits = [tmp_path / name for name in NAMES]
    grid = FakeGrid.of(kits, client_app(lambda folder, name, answered: Odd(answer)))
    answers, record = asked(grid)
    assert answers == {}
    assert set(record.values()) == {"an unexpected error; see the log of the client"}


def test_a_site_that_cannot_be_opened_says_so_in_a_message(tmp_path: Path) -> None:
    def broken(folder: Path, name: str, answered: int) -> Odd:
        raise OSError(folder)

    write_kits(tmp_path)
    grid = FakeGrid.of([tmp_path / name for name in NAMES], client_app(broken))
    _, record = asked(grid)
    assert set(record.values()) == {"an unexpected error; see the log of the client"}


def test_a_supernode_without_a_kit_and_a_message_without_bytes_are_replied_to(
    tmp_path: Path,
) -> None:
    grid = FakeGrid({5: {"fedclust-name": "north"}})
    transport = GridTransport(grid, poll=0.0)
    transport.wait(1, 5.0, 0.0)
    assert dict(transport.exchange(["north"], b"x", 60.0)) == {
        "north": "an unexpected error; see the log of the client"
    }
    grid = grid_of(tmp_path)
    empty = Message(RecordDict(), min(grid.nodes), "query.request", ttl=5.0)
    [id] = grid.push_messages([empty])
    assert (
        read_bytes(grid.pull_messages([id])[0]) == "an unexpected error; see the log of the client"
    )


def test_rounds_are_counted_from_process_to_process(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, "max_rounds = 3")
    study = write_study(tmp_path, scaling="none")
    with pytest.raises(FedclustError, match="client.toml allows max_rounds = 3"):
        run_app(grid, for_machines(study))
    lines = (tmp_path / "west" / "disclosures.jsonl").read_text().splitlines()
    said = [json.loads(line) for line in lines]
    assert sum(line["kind"] == "round" and "refused" not in line for line in said) == 3


def test_flower_does_not_say_who_asks_so_a_client_that_wants_to_know_refuses(
    tmp_path: Path,
) -> None:
    grid = grid_of(tmp_path, 'authors = ["ana@example.org"]')
    _, record = asked(grid)
    assert set(record) == set(NAMES)
    assert "does not list author ''" in record["west"]


def test_the_written_folder_is_an_app_to_flower(tmp_path: Path) -> None:
    study = tmp_path / "a study.toml"
    write_app(tmp_path / "app", {"study": str(study), "min_clients": 3})
    config, warnings = load_and_validate(tmp_path / "app" / "pyproject.toml", check_module=True)
    assert warnings == []
    found = read_run_settings(config["tool"]["flwr"]["app"]["config"])
    assert (found.study, found.min_clients, found.out) == (str(study), 3, "")
    with pytest.raises(ConfigError, match="exists already"):
        write_app(tmp_path / "app", {"study": str(study)})


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "needs study"),
        ({"study": "s.toml"}, "must be an absolute path"),
        ({"study": "/s.toml", "out": "run"}, "must be an absolute path"),
        ({"study": "/s.toml", "deadline": 0}, "deadline must be at least 1"),
        ({"study": "/s.toml", "min_clients": "3"}, "min_clients must be an integer"),
        ({"study": "/s.toml", "dead-line": 3}, "did you mean 'deadline'"),
    ],
)
def test_wrong_settings_are_said(config: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read_run_settings(config)


def test_the_command_writes_the_folder_and_says_what_to_set(tmp_path: Path) -> None:
    words = ["flower-app", str(tmp_path / "app"), "--study", str(tmp_path / "s.toml")]
    done = CliRunner().invoke(cli, [*words, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "export FLWR_TELEMETRY_ENABLED=0" in done.output
    assert f'out = "{tmp_path}/run"' in (tmp_path / "app" / "pyproject.toml").read_text()


def test_simulated_supernodes_find_their_folders_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flower's simulation gives clients numbers; elsewhere a run cannot name anybody's folder."""
    write_kits(tmp_path / "kits")
    grid = FakeGrid({i + 5: {"partition-id": i, "num-partitions": 4} for i in range(4)})
    for context in grid.nodes.values():
        context.run_config["kits"] = str(tmp_path / "kits")
    transport = GridTransport(grid, poll=0.001)
    with pytest.raises(FedclustError, match="0 of at least . clients connected within 0 s"):
        transport.wait(1, 0.0, 0.0)
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    assert GridTransport(grid, poll=0.001).wait(3, 5.0, 0.0) == list(NAMES)
