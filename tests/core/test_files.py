"""Files that survive a crash, and locks with a time limit."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from fedclust.core import ConfigError, FedclustError, WriteError
from fedclust.core.files import append_line, lock, make_folder, replacing, write_text


def test_a_file_is_replaced_only_if_the_block_wrote_it(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    write_text(target, "old")
    with replacing(target):
        pass
    assert target.read_text() == "old"
    with pytest.raises(UnicodeEncodeError), replacing(target) as scratch:
        scratch.write_text("half \ud800", encoding="utf-8")
    assert target.read_text() == "old"
    with replacing(target) as scratch:
        scratch.write_text("new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(ConfigError, match="nowhere does not exist"):
        write_text(tmp_path / "nowhere" / "file.txt", "text")


@pytest.mark.parametrize(
    "problem",
    [
        lambda scratch: PermissionError(errno.EACCES, "Permission denied", str(scratch)),
        lambda scratch: PermissionError(errno.EACCES, f"Failed to open local file '{scratch}'"),
        lambda scratch: OSError(errno.ENOSPC, "Error writing bytes to file"),
    ],
)
def test_an_error_names_the_file_and_not_the_scratch_file(tmp_path: Path, problem: Any) -> None:
    target = tmp_path / "file.txt"
    with pytest.raises(WriteError) as caught, replacing(target) as scratch:
        raise problem(scratch)
    reason = os.strerror(problem("").errno)
    assert str(caught.value) == f"{target} cannot be written ({reason})"


def test_an_error_about_another_file_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="data.csv"), replacing(tmp_path / "file.txt"):
        (tmp_path / "data.csv").read_text()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"the folder .*file/labels cannot be made \(Not a dir"):
        make_folder(tmp_path / "file" / "labels")


def test_lines_are_appended(tmp_path: Path) -> None:
    for sync in (True, False):
        append_line(tmp_path / "log", f"sync {sync}", sync=sync)
    assert (tmp_path / "log").read_text() == "sync True\nsync False\n"


def test_a_line_that_does_not_fit_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_line(tmp_path / "log", "whole")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fedclust.core.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        append_line(tmp_path / "log", "half of a line")
    assert (tmp_path / "log").read_text() == "whole\n"


def test_a_lock_is_waited_for_as_long_as_the_caller_says(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    path = tmp_path / "lock"
    with open(path, "w") as held, open(path, "w") as waiting:  # a lock belongs to an open file
        lock(held)
        with pytest.raises(FedclustError, match="in use by another process"):
            lock(waiting, 0.15)
    with open(path, "w") as file:
        lock(file, 5.0)
