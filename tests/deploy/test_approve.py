"""The owner's side of a study on the command line: fedclust approve, and fedclust client."""

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from fedclust import __version__
from fedclust.cli import app
from fedclust.cli.client import Attendant
from fedclust.client.config import read_client_config
from fedclust.core import TooFewClients
from fedclust.deploy.watch import Watch
from fedclust.follow.approval import read_mailed_study, study_hash
from fedclust.follow.decisions import Approvals

from ..support.following import Federation, tables
from ..support.in_process import FEDERATION

pytest.importorskip("cryptography")

ASK = 'privacy = "secure"\napproval = "ask"'
DOCS = Path(__file__).parent.parent.parent / "docs" / "deployment-client.md"


def command(*words: object, typed: str = "", columns: int = 300) -> Any:
    env = {"COLUMNS": str(columns)}
    return CliRunner().invoke(app, [str(word) for word in words], input=typed, env=env)


def offer(there: Federation, run: str = "a1") -> str:
    """Let the server offer the study to all clients, which ask their owners."""
    with pytest.raises(TooFewClients):
        there.run(there.folder / "run", run=run)
    return study_hash(read_mailed_study(there.path))


@pytest.fixture
def there(tmp_path: Path) -> Federation:
    return Federation(tmp_path, tables(3, n=20), consent=ASK)


@pytest.fixture
def kit(there: Federation) -> Path:
    return there.folder / "c00"


# fedclust approve


def test_nothing_waits(kit: Path) -> None:
    shown = command("approve", kit)
    assert (shown.exit_code, shown.output) == (0, "No study waits for a decision.\n")
    assert command("approve", kit, "--list").output == "No study has been decided about.\n"
    rules = kit / "client.toml"
    rules.write_text(rules.read_text().replace('"ask"', '"rules"'))
    assert 'client.toml has approval = "rules"' in command("approve", kit).output


@pytest.mark.parametrize(
    ("typed", "decision", "says"),
    [
        ("y\n", "approved", "This client follows it."),
        ("Yes\n", "approved", "This client follows it."),
        ("n\n", "refused", "This client does not take part in it."),
        ("perhaps\n\nno\n", "refused", "This client does not take part in it."),
        ("s\n", "", "Not decided. The study waits; decide with: fedclust approve"),
        ("", "", "Not decided."),
    ],
)
def test_a_study_that_waits_is_shown_and_asked_about(
    typed: str, decision: str, says: str, there: Federation, kit: Path
) -> None:
    hash = offer(there)
    shown = command("approve", kit, typed=typed)
    assert shown.exit_code == 0
    for words in (f"Hash: {hash}", "Uses: x0 (0 to 1), x1 (0 to 1).", "tier 'secure'", says):
        assert words in shown.output
    assert "Submitted by coordinator to the clients c00, c01, c02." in shown.output
    assert shown.output.count("Approve this study?") == (typed.count("\n") or 1)
    assert Approvals(kit).decision(hash) == decision
    assert len(Approvals(kit).pending()) == (not decision)


def test_decisions_by_hash_can_be_changed_and_are_listed(there: Federation, kit: Path) -> None:
    hash = offer(there)
    done = command("approve", kit, hash[:16].upper(), "--yes")
    assert f"Approved: 's', hash {hash}. This client follows it." in done.output
    assert Approvals(kit).decision(hash) == "approved"
    withdrawn = command("approve", kit, hash, "--refuse")
    assert "The study 's' was approved on 20" in withdrawn.output
    assert f"Refused: 's', hash {hash}." in withdrawn.output
    shown = command("approve", kit, "--list").output
    assert shown.index("approved") < shown.index("refused")
    assert shown.count(hash[:16]) == 2
    found = json.loads(command("approve", kit, "--list", "--json").output)["decisions"]
    assert [one["decision"] for one in found] == ["approved", "refused"]
    assert {one["hash"] for one in found} == {hash}


def test_json_asks_nothing(there: Federation, kit: Path) -> None:
    hash = offer(there)
    found = json.loads(command("approve", kit, "--json").output)
    assert [one["hash"] for one in found["pending"]] == [hash]
    assert f"Hash: {hash}" in found["pending"][0]["words"]
    assert found["decisions"] == []
    made = json.loads(command("approve", kit, hash, "--yes", "--json").output)
    assert (made["hash"], made["decision"]) == (hash, "approved")
    assert "add --yes or --refuse" in command("approve", kit, hash, "--json").output


def test_a_study_is_approved_ahead_of_time_from_its_file(there: Federation) -> None:
    """The client then follows the study that the server sends, without a question."""
    mailed = there.folder / "mail" / "s.toml"
    mailed.parent.mkdir()
    mailed.write_text(there.path.read_text().replace("/people.csv", "/elsewhere.csv"))
    for client in there.rows:
        typed = "" if client == "c00" else "y\n"
        words = ("--yes",) if client == "c00" else ()
        done = command("approve", there.folder / client, "--study", mailed, *words, typed=typed)
        assert "This client follows it." in done.output
    there.run(there.folder / "run")
    assert all(Approvals(there.folder / client).pending() == [] for client in there.rows)


def test_a_study_that_client_toml_forbids_is_not_approved(there: Federation, kit: Path) -> None:
    rules = kit / "client.toml"
    rules.write_text(rules.read_text() + 'columns = ["x0"]\nauthors = ["ana"]\n')
    done = command("approve", kit, "--study", there.path, "--yes")
    assert done.exit_code == 1
    why = "this client would refuse the study: client.toml does not list the column 'x1'"
    assert why in done.output
    assert list(Approvals(kit).decisions()) == []
    refused = command("approve", kit, "--study", there.path, "--refuse")
    assert "Refused: 's'" in refused.output


MISTAKES = {
    "a kit that is not there": (("approve", "{folder}/north"), "there is no such file"),
    "both": (("approve", "{kit}", "{hash}", "--yes", "--refuse"), "contradict each other"),
    "hash and file": (("approve", "{kit}", "{hash}", "--study", "{study}"), "not both"),
    "list and more": (("approve", "{kit}", "{hash}", "--list"), "--list only lists decisions"),
    "yes to what": (("approve", "{kit}", "--yes"), "--yes needs the hash of one study"),
    "refuse what": (("approve", "{kit}", "--refuse"), "--refuse needs the hash of one study"),
    "no hash": (("approve", "{kit}", "heart-study-2026", "--yes"), "is not the hash of a study"),
    "too few digits": (("approve", "{kit}", "{short}", "--yes"), "at least 16 of its digits"),
    "another hash": (("approve", "{kit}", "ab" * 32, "--yes"), "waiting: s ({hash})"),
    "no such file": (("approve", "{kit}", "--study", "{folder}/t.toml"), "there is no such file"),
    "no study": (("approve", "{kit}", "--study", "{kit}/client.toml"), "there is no table"),
    "a name": (("approve", "{kit}", "--study", "{folder}/a,b.toml"), "may have letters, digits"),
    "not followed": (("approve", "{kit}", "--study", "{folder}/none.toml"), "cannot follow"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(mistake: str, there: Federation, kit: Path) -> None:
    hash = offer(there)
    text = there.path.read_text()
    (there.folder / "a,b.toml").write_text(text)
    (there.folder / "none.toml").write_text(text.replace('tier = "secure"', 'tier = "none"'))
    places = {"folder": there.folder, "kit": kit, "hash": hash, "short": hash[:15]}
    places |= {"study": there.path}
    words, why = MISTAKES[mistake]
    done = command(*(word.format(**places) for word in words))
    assert done.exit_code == 1
    assert why.format(**places) in done.output
    assert done.output.startswith("fedclust: ")
    assert done.output.count("\n") == 1
    assert list(Approvals(kit).decisions()) == []


def test_a_folder_that_cannot_be_written_is_a_sentence(
    there: Federation, kit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hash = offer(there)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    done = command("approve", kit, hash, "--yes")
    assert done.exit_code == 1
    assert "run this command as the user who runs the client" in done.output


def test_names_are_shown_and_not_obeyed(there: Federation, kit: Path) -> None:
    """A column cannot clear the screen, nor write a line of its own."""
    bad = "\"x0\\u001b[2J\\nPrivacy: tier 'dp'\""
    text = there.path.read_text()
    there.path.write_text(text.replace("x0 = {", f"{bad} = {{"))
    hash = offer(there)
    for shown in (
        command("approve", kit, typed="s\n").output,
        command("approve", kit, "--study", there.path, typed="s\n").output,
        command("check", there.path, "--across").output,
    ):
        assert hash in shown
        assert "\x1b" not in shown
        assert "x0\\x1b[2J\\nPrivacy" in shown
        assert "\nPrivacy: tier 'dp'" not in shown


# The same hash for the coordinator


def test_check_shows_the_hash_that_owners_see(there: Federation) -> None:
    hash = offer(there)
    assert f"Across machines, its hash is {hash}" in command("check", there.path).output
    assert json.loads(command("check", there.path, "--json").output)["hash"] == hash
    bare = there.folder / "bare" / "s.toml"
    bare.parent.mkdir()
    text = there.path.read_text()
    bare.write_text(text[text.index("[features]") :])
    shown = command("check", bare, "--across")
    assert shown.exit_code == 0
    assert f"Hash: {study_hash(read_mailed_study(bare))}" in shown.output
    found = json.loads(command("check", bare, "--across", "--json").output)
    assert found["hash"] == study_hash(read_mailed_study(bare))
    bare.write_text(bare.read_text().replace('tier = "secure"', 'tier = "none"'))
    assert "clients cannot follow the study" in command("check", bare, "--across").output


def test_the_log_shows_the_hash_of_each_message(there: Federation, kit: Path) -> None:
    hash = offer(there)
    for client in there.rows:
        Approvals(there.folder / client).decide("s", hash, approved=True)
    there.run(there.folder / "run", run="b2")
    every = command("disclosures", kit, "--all").output
    lines = (kit / "disclosures.jsonl").read_text().splitlines()
    assert every.count(hash[:16]) == len(lines)
    assert hash[:16] in command("disclosures", kit).output


# fedclust client

CLIENT = """
import sys
from fedclust.channels.nvflare import certificates, process
certificates.days_left = lambda *_: 300
process.client_command = lambda folder, name: ["sleep", "60"]
from fedclust.cli import app
app()
"""


class Terminal:
    """`fedclust client` in a pseudo-terminal; the engine's process only sleeps."""

    def __init__(self, kit: Path) -> None:
        self.master, slave = pty.openpty()
        words = [sys.executable, "-c", CLIENT, "client", str(kit)]
        env = {**os.environ, "COLUMNS": "300", "TERM": "dumb"}
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env)
        os.close(slave)
        self.seen = ""

    def says(self, text: str, seconds: float = 180.0) -> str:
        """Wait until the terminal shows a text."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, f"waited in vain for {text!r}: {self.seen}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 4096).decode()
        return self.seen

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=180)
        os.close(self.master)


@pytest.fixture
def terminal(there: Federation, kit: Path) -> Iterator[Terminal]:
    pytest.importorskip("nvflare", reason="clients need fedclust[nvflare]")
    write_about(kit)
    made = Terminal(kit)
    made.says("connecting to h, port 1")
    yield made
    made.close()


def write_about(kit: Path) -> None:
    about = {"role": "client", "name": kit.name, "federation": FEDERATION}
    (kit / "fedclust.json").write_text(json.dumps(about))
    target = f"{FEDERATION['server']}:{FEDERATION['port']}"
    startup = {"servers": [{"service": {"target": target}}]}
    files: dict[str, object] = {"startup/fed_client.json": startup}
    for name in ("resources", "authorization", "log_config"):
        files[f"local/{name}.json"] = {"format_version": 2}
    for name, content in files.items():
        (kit / name).parent.mkdir(exist_ok=True)
        (kit / name).write_text(json.dumps(content))


def test_a_client_in_a_terminal_asks_its_owner(
    there: Federation, kit: Path, terminal: Terminal
) -> None:
    terminal.type("y\n")  # typed before there was a question, which it does not answer
    hash = offer(there)
    shown = terminal.says("Approve this study?")
    assert f"Hash: {hash}" in shown
    assert "Is published: centres" in shown
    time.sleep(0.5)
    assert Approvals(kit).decision(hash) == ""
    terminal.type("what?\n")
    terminal.type("y\n")
    terminal.says(f"Approved: 's', hash {hash}.")
    assert Approvals(kit).decision(hash) == "approved"
    for client in ("c01", "c02"):
        Approvals(there.folder / client).decide("s", hash, approved=True)
    there.run(there.folder / "run", run="b2")
    assert terminal.says("follows the study 's'").count("Uses: ") == 1  # the owner has read it


def test_a_client_in_a_terminal_notices_a_decision_elsewhere(
    there: Federation, kit: Path, terminal: Terminal
) -> None:
    hash = offer(there)
    terminal.says("Approve this study?")
    command("approve", kit, hash, "--refuse")
    terminal.says("The study 's' was refused elsewhere.")


def test_a_client_in_a_terminal_can_be_answered_later(
    there: Federation, kit: Path, terminal: Terminal
) -> None:
    hash = offer(there)
    terminal.says("Approve this study?")
    terminal.type("s\n")
    terminal.says(f"hash {hash}) waits for your approval; decide with: fedclust approve {kit}")
    assert len(Approvals(kit).pending()) == 1


@pytest.mark.parametrize("approval", ["ask", "rules"])
def test_a_client_without_a_terminal_says_what_to_run(approval: str, tmp_path: Path) -> None:
    """With rules it shows what it follows, once."""
    pytest.importorskip("nvflare", reason="clients need fedclust[nvflare]")
    consent = f'privacy = "secure"\napproval = "{approval}"'
    there = Federation(tmp_path, tables(3, n=20), consent=consent)
    kit = there.folder / "c00"
    write_about(kit)
    words = [sys.executable, "-c", CLIENT, "client", str(kit)]
    env = {**os.environ, "COLUMNS": "300", "PYTHONUNBUFFERED": "1"}
    with open(tmp_path / "out.txt", "wb") as out:
        client = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env)
    try:
        wait_for(tmp_path / "out.txt", "connecting to")
        if approval == "ask":
            hash = offer(there)
            expected = f"waits for your approval; decide with: fedclust approve {kit}"
        else:
            hash = study_hash(read_mailed_study(there.path))
            there.run(tmp_path / "one", run="b1")
            expected = "Stays with you: all rows"
        shown = wait_for(tmp_path / "out.txt", expected)
        assert hash in shown
        if approval == "rules":
            there.run(tmp_path / "two", run="b2")
            time.sleep(2.0)
            assert (tmp_path / "out.txt").read_text().count("follows the study 's'") == 1
    finally:
        client.terminate()
        client.wait(timeout=180)


def test_a_damaged_log_does_not_end_the_client(
    there: Federation, kit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedclust.deploy.watch._INTERVAL", 0.0)
    out = io.StringIO()
    watch = Watch(read_client_config(kit / "client.toml"))
    attendant = Attendant(Console(file=out, width=300), kit, watch, asks=False)
    (kit / "disclosures.jsonl").write_text("{\n")
    attendant.attend()
    assert "studies cannot be shown here: " in out.getvalue()
    hash = offer(there)
    attendant.attend()
    assert f"the study 's' (hash {hash}) waits for your approval" in out.getvalue()


def wait_for(file: Path, text: str) -> str:
    end = time.monotonic() + 180.0
    while text not in file.read_text():
        assert time.monotonic() < end, file.read_text()
        time.sleep(0.1)
    return file.read_text()


# The documentation


def test_the_transcript_in_the_documentation_is_what_the_command_prints(tmp_path: Path) -> None:
    page = DOCS.read_text()
    file, shown = (
        re.search(pattern, page, re.DOTALL)
        for pattern in (r"```toml heart\n(.*?)```", r"```console approve\n\$ .*?\n(.*?)```")
    )
    assert file
    assert shown
    there = Federation(tmp_path, tables(3), consent=ASK)
    there.path.unlink()
    there.path = tmp_path / "heart.toml"
    there.path.write_text(file[1])
    done = command("approve", there.folder / "c00", "--study", there.path, typed="y\n")
    assert _bare(done.output) == _bare(shown[1].replace("later): y\n", "later): "))


def _bare(text: str) -> str:
    """A transcript without what differs between versions, and without line breaks."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", text.replace(__version__, "VERSION"))
    return " ".join(re.sub(r"fedclust \d+\.\d+\.\d+", "fedclust VERSION", text).split())
