"""The log of events: one schema, two formats, bounded in size."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust.core import Code
from fedclust.deploy.events import Event, EventLog, EventName, LogFormat, Side, as_json, as_text

PAGE = Path(__file__).parents[2] / "docs" / "monitoring.md"
SOME = Event(
    time="2026-01-31T12:00:00.000+00:00",
    event=EventName.REFUSED,
    side=Side.CLIENT,
    client="north",
    study="heart",
    round=3,
    code="consent",
    text='the owner says "no"',
)


def test_an_event_is_one_line_of_text_or_json() -> None:
    assert as_text(SOME) == (
        "2026-01-31T12:00:00.000+00:00 warning refused side=client client=north study=heart "
        'round=3 code=consent text="the owner says \\"no\\""'
    )
    assert json.loads(as_json(SOME)) == {
        "time": "2026-01-31T12:00:00.000+00:00",
        "level": "warning",
        "event": "refused",
        "side": "client",
        "client": "north",
        "study": "heart",
        "round": 3,
        "code": "consent",
        "text": 'the owner says "no"',
    }


@given(st.text())
def test_what_another_machine_sends_cannot_forge_a_line(text: str) -> None:
    """No line break, no escape sequence, and no field that is not one."""
    event = Event(event=EventName.REFUSED, side=Side.CLIENT, study=text, text=text)
    for line in (as_text(event), as_json(event)):
        assert line.isascii()
        assert line.isprintable()
    found = json.loads(as_json(event))
    assert found["event"] == "refused"
    kept = found["text"]
    assert kept == text if len(text) <= 500 else len(kept) == 500
    unquoted = re.sub(r'"(\\.|[^"\\])*"', "", as_text(event))
    assert unquoted.count("=") == 3  # side, study and text


@pytest.mark.parametrize("format", list(LogFormat))
def test_a_log_rotates_and_loses_only_what_is_oldest(format: LogFormat, tmp_path: Path) -> None:
    path = tmp_path / "fedclust.log"
    log = EventLog(path, format, limit=1_000, keep=3)
    for number in range(200):
        log.write(Event(event=EventName.ROUND, side=Side.SERVER, round=number))
    files = sorted(tmp_path.iterdir(), reverse=True)  # the oldest first
    assert [file.name for file in files] == [f"fedclust.log{x}" for x in (".3", ".2", ".1", "")]
    assert all(file.stat().st_size <= 1_000 for file in files)
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    numbers = [
        int(n) for file in files for n in re.findall(r'round"?[=:] ?(\d+)', file.read_text())
    ]
    assert numbers == list(range(numbers[0], 200))
    assert len(numbers) > 20


def test_a_log_that_cannot_be_written_is_a_problem_and_no_error(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "gone" / "fedclust.log", LogFormat.TEXT)
    log.write(SOME)
    assert "cannot be written (No such file or directory)" in str(log.problem)
    (tmp_path / "gone").mkdir()
    log.write(SOME)
    assert len((tmp_path / "gone" / "fedclust.log").read_text().splitlines()) == 1
    assert log.problem is None


def test_the_page_names_every_event_and_every_field() -> None:
    page = PAGE.read_text()
    names = [f.name for f in fields(Event)] + ["level"] + [str(name) for name in EventName]
    assert [name for name in names if f"| `{name}` |" not in page] == []


def test_the_page_names_every_code_of_a_refusal() -> None:
    table = PAGE.read_text().partition("| `code` | why")[2].partition("\n\n")[0]
    codes = set(Code) - {Code.SILENT, Code.REPLY}  # those are the server's
    assert set(re.findall(r"`(\w+)`", table)) == {str(code) for code in codes}
