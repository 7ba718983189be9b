"""Causes by name, over real processes: every console says what is wrong and what to do."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from .disks import Clock, Disk, can_mount, can_turn_clocks
from .processes import CLIENTS, Command, Federation, federation
from .test_faults import LONG, UNDER_WAY, history, same_result
from .test_secure_faults import UNDER_WAY as FOLLOWED
from .test_secure_faults import secure_study, slow_client

pytestmark = pytest.mark.e2e

END = 300.0  # seconds; far more than any of these studies takes
SHORT = 'algorithm = "llf-fcm"\nmax_rounds = 20\ntol = 0.0'


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        yield made


@pytest.fixture
def mounts(tmp_path: Path) -> None:
    if not can_mount(tmp_path):
        pytest.skip("only a user who may mount file systems can fill a disk")


def assert_words_only(*commands: Command) -> None:
    """Our consoles show our sentences, and nothing of the engine."""
    for command in commands:
        for foreign in ("Traceback", "nvflare", "CoreCell", "ERROR", "http"):
            assert foreign not in command.said()


def test_one_kit_on_two_machines_is_refused_and_everybody_learns_it(fed: Federation) -> None:
    study = fed.write_study(LONG, k=7)
    copied = fed.folder / "another machine"
    shutil.copytree(fed.kit("west"), copied)
    clients = {name: slow_client(fed, name) for name in CLIENTS}
    server = fed.server(study)
    server.says(UNDER_WAY)
    second = fed.command("second", "client", str(copied))
    assert second.ends(END) == 1
    assert "this kit runs on another machine, and the server refuses a second one" in second.said()
    clients["west"].says("the server refused a second machine .* uses a copy of this kit")
    assert server.ends(END) == 0, server.said()
    assert "west: a second machine" in server.said()
    assert "revoke the kit" in server.said()
    assert same_result(fed, study), "it changed nothing for the study"
    assert not (copied / "disclosures.jsonl").exists()
    assert_words_only(server, second, *clients.values())


def test_a_client_that_moves_to_another_machine_goes_on_there(fed: Federation) -> None:
    """The study waits for it meanwhile, and its ledger has moved with it."""
    study = secure_study(fed)
    clients = {name: slow_client(fed, name) for name in CLIENTS}
    server = fed.server(study)
    server.says(FOLLOWED)
    clients["west"].stop()
    moved = fed.folder / "new machine"
    shutil.copytree(fed.kit("west"), moved)
    time.sleep(11)  # as long as the server holds the place
    there = fed.command("west", "client", str(moved))
    assert server.ends(END) == 0, server.said()
    assert same_result(fed, study)
    assert list((moved / "labels").glob("study-*.csv"))
    assert_words_only(server, there)


@pytest.mark.usefixtures("mounts")
def test_a_full_disk_of_the_server_is_named_and_the_study_continues(fed: Federation) -> None:
    study = fed.write_study(LONG, k=7)
    (fed.folder / "out").mkdir()
    disk = Disk(fed.folder / "out")
    try:
        words = ("--out", str(fed.folder / "out" / "study-run"))
        for name in CLIENTS:
            slow_client(fed, name)
        server = fed.server(study, *words)
        server.says(UNDER_WAY)
        disk.fill()
        assert server.ends(END) == 1, server.said()
        assert "is full; free space, then run the same command with --resume" in server.said()
        disk.free()
        again = fed.server(study, *words, "--resume")
        assert again.ends(END) == 0, again.said()
        shutil.copytree(fed.folder / "out" / "study-run", fed.folder / "study-run")
    finally:
        disk.close()
    assert same_result(fed, study)
    assert_words_only(server, again)


@pytest.mark.usefixtures("mounts")
def test_a_full_disk_of_a_client_is_named_and_the_study_continues(fed: Federation) -> None:
    study = secure_study(fed)
    disk = Disk(fed.kit("west"))
    try:
        clients = [slow_client(fed, name) for name in CLIENTS]
        server = fed.server(study)
        server.says(FOLLOWED)
        disk.fill()
        assert server.ends(END) == 1, server.said()
        assert "west: refused: its disk is full; free space there" in server.said()
        waits = fed.server(study, "--resume")
        waits.says("west: its disk is full; the study goes on with it once there is space")
        disk.free()
        assert waits.ends(END) == 0, waits.said()
        lines = (fed.kit("west") / "disclosures.jsonl").read_text().splitlines()
        assert all(line.startswith("{") and line.endswith("}") for line in lines)
        assert same_result(fed, study)
        assert_words_only(server, waits, *clients)
    finally:
        disk.close()


@pytest.mark.skipif(not can_turn_clocks(), reason="needs Linux and a C compiler")
@pytest.mark.parametrize(("shift", "words"), [(180, "3 minutes ahead of"), (86_400, "24 hours")])
def test_a_wrong_clock_is_named_on_both_sides(fed: Federation, shift: int, words: str) -> None:
    study = fed.write_study(SHORT, k=7)
    clock = Clock(fed.folder, "west")
    clock.set(shift)
    fed.client("north")
    fed.client("south")
    west = fed.client("west", env=clock.environment())
    server = fed.server(study)
    assert server.ends(END) == 0, server.said()
    assert f"west: its clock is {words}" in server.said()
    assert f"the clock of this machine is {words}" in west.said()
    assert same_result(fed, study)
    assert_words_only(server, west)


@pytest.mark.skipif(not can_turn_clocks(), reason="needs Linux and a C compiler")
def test_a_clock_before_the_certificate_is_named_by_the_client(fed: Federation) -> None:
    study = fed.write_study(SHORT, k=7, min_clients=2)
    clock = Clock(fed.folder, "west")
    clock.set(-86_400)
    fed.client("north")
    fed.client("south")
    west = fed.client("west", env=clock.environment())
    server = fed.server(study)
    assert server.ends(END) == 0, server.said()
    assert west.ends() == 1
    assert "check this machine's clock" in west.said()
    assert "not connected: west; if fedclust client runs there, its console says why" in (
        server.said()
    )
    assert len(history(fed.folder / "study-run")) > 1


def test_a_limit_that_no_retry_can_cure_ends_the_study_at_once(fed: Federation) -> None:
    study = fed.write_study(SHORT, k=7)
    with open(fed.kit("west") / "client.toml", "a") as file:
        file.write("[consent]\nmax_clusters = 5\n")
    for name in CLIENTS:
        fed.client(name)
    server = fed.server(study)
    assert server.ends(END) == 1, server.said()
    assert "allows max_clusters = 5" in server.said()
    assert server.said().count("submitted to") == 1
    assert_words_only(server)


def test_studies_on_the_same_kits_wait_for_each_other(fed: Federation) -> None:
    first = fed.write_study(SHORT, k=7)
    for name in ("second", "third"):
        (fed.folder / f"{name}.toml").write_text(first.read_text())
    for name in CLIENTS:
        slow_client(fed, name)
    kits = str(fed.folder / "kits")
    servers = [fed.server(first)]
    servers[0].says("starting the server")
    for name in ("second", "third"):
        servers.append(fed.server(fed.folder / f"{name}.toml"))
        servers[-1].says("waiting for the study 'study', which runs on the same kits")
    listed = fed.command("list", "studies", "--kits", kits)
    assert listed.ends() == 0
    cancelled = fed.command("cancel", "studies", "--kits", kits, "--cancel", "third")
    assert cancelled.ends() == 0, cancelled.said()
    assert servers[2].ends(END) == 130
    for server in servers[:2]:
        assert server.ends(END) == 0, server.said()
        assert_words_only(server)
    past = fed.command("past", "studies", "--kits", kits)
    assert past.ends() == 0
    for word in ("study", "second", "third", "finished", "interrupted"):
        assert word in past.said()
    for word in ("study", "second", "third"):
        assert word in listed.said()
