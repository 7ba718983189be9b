"""How far a running study is: from what it writes while it runs."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fedclust.cli.status import _describe
from fedclust.deploy.status import read_progress

from ..support.pretended import STUDY, Pretended, run


def write(folder: Path, lines: list[dict[str, Any]], most: int | None = 100) -> None:
    about = {"study": "heart", "work": str(folder), "max_rounds": most}
    (folder / "running.json").write_text(json.dumps(about))
    (folder / "progress.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def rounds(n: int, apart: float = 2.0, **more: Any) -> list[dict[str, Any]]:
    begin = datetime.now(UTC) - timedelta(seconds=n * apart)
    words = {"phase": "clustering", "plan": "llf-cm", "answers": 3, **more}
    return [
        {"when": (begin + timedelta(seconds=i * apart)).isoformat(), "round": i, **words}
        for i in range(n)
    ]


def test_rounds_and_the_time_that_is_left_at_most(tmp_path: Path) -> None:
    write(tmp_path, [{"when": "", "incident": {}}, *rounds(11)])
    found = read_progress(tmp_path)
    assert found is not None
    assert found["seconds_left"] == pytest.approx(2.0 * 89)
    assert 2.0 <= found["seconds_ago"] < 60.0
    assert _describe({**found, "seconds_ago": 2.0}) == (
        "Study 'heart': clustering (llf-cm), round 11 of at most 100, 3 replies, 2 s ago; at most "
        "0:02:58 left."
    )


@pytest.mark.parametrize(
    ("lines", "most", "says"),
    [
        ([], 100, "Study 'heart': starting."),
        (rounds(1), 100, "round 1 of at most 100, 3 replies, "),  # one tells no pace
        (rounds(3), None, "clustering (llf-cm), round 3, 3 replies, "),
        (rounds(2, phase="scaling", plan="moments"), 100, "scaling (moments), round 2, 3 replies"),
    ],
)
def test_what_is_not_known_is_not_said(
    tmp_path: Path, lines: list[dict[str, Any]], most: int | None, says: str
) -> None:
    write(tmp_path, lines, most)
    found = read_progress(tmp_path)
    assert found is not None
    assert says in _describe(found)
    assert "left" not in _describe(found)


def test_without_a_study_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert read_progress(tmp_path) is None
    (tmp_path / "running.json").write_text("{")
    assert read_progress(tmp_path) is None


def test_a_study_is_announced_while_it_runs(
    server: Pretended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    real = server.submit

    def submit(job: Path) -> str:
        seen.append(read_progress(tmp_path / "kits" / "admin"))
        return real(job)

    monkeypatch.setattr(server, "submit", submit)
    run(tmp_path, STUDY)
    assert seen == [{"study": "s", "phase": "starting"}]
    assert not (tmp_path / "kits" / "admin" / "running.json").exists()
