"""What is wrong at a client or on the server's machine, in sentences, while a study runs.

The engine of the server learns some of it from its clients and writes it into its kit.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import FedclustError
from ..core.codec import one_line

# Called with {"message": text}, or with a line of progress.jsonl.
OnMessage = Callable[[dict[str, Any]], object]

_TWICE = (
    "a second machine{address} uses a copy of its kit and was refused; one kit runs on one "
    "machine. If nobody knows it, revoke the kit (fedclust revoke)"
)
_FULL = "its disk is full; the study goes on with it once there is space"
_CLOCK = "its clock is {offset} the server's; certificates and logs depend on it"


@dataclass(frozen=True)
class Condition:
    """Something that is wrong at a client."""

    client: str
    text: str
    blocks: bool = False  # whether a job would fail there

    def __str__(self) -> str:
        return f"{self.client}: {self.text}"


class Conditions:
    """The conditions of the clients, as the engine of a server's kit reports them."""

    def __init__(self, kit: Path) -> None:
        self._kit = kit
        self._shown: frozenset[Condition] = frozenset()

    def find(self) -> list[Condition]:
        """What is wrong now."""
        from ..channels.nvflare.signs import REPORT

        with contextlib.suppress(OSError, ValueError):
            report = json.loads((self._kit / REPORT).read_text(encoding="ascii"))
            return [one for name, signs in sorted(report.items()) for one in _read(name, signs)]
        return []

    def find_new(self) -> list[Condition]:
        """What is wrong since the last call."""
        now = frozenset(self.find())
        new, self._shown = now - self._shown, now
        return sorted(new, key=str)

    def blocked(self) -> frozenset[str]:
        """Clients where a job would fail."""
        return frozenset(one.client for one in self.find() if one.blocks)


def _read(name: str, signs: Mapping[str, Any]) -> Iterator[Condition]:
    from ..channels.nvflare.signs import CLOCK, FULL, TWICE

    name = one_line(name)
    if signs.get(FULL):
        yield Condition(name, _FULL, blocks=True)
    if isinstance(offset := signs.get(CLOCK), int):
        yield Condition(name, _CLOCK.format(offset=describe_offset(offset)))
    if where := signs.get(TWICE):
        address = f" (address {one_line(where)})" if isinstance(where, str) else ""
        yield Condition(name, _TWICE.format(address=address))


def describe_offset(seconds: float) -> str:
    """How far a clock is before or behind another."""
    size = abs(seconds)
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if size >= 2 * length:
            return f"{size / length:.0f} {unit} {'ahead of' if seconds > 0 else 'behind'}"
    return f"{size:.0f} seconds {'ahead of' if seconds > 0 else 'behind'}"


def check_space(folders: Iterable[Path]) -> None:
    """Raise if the disk of a folder on this machine is full."""
    from ..channels.nvflare.signs import is_full

    for folder in folders:
        nearest = next(path for path in (folder, *folder.parents) if path.exists())
        if is_full(nearest):
            raise FedclustError(
                f"the disk with {folder} is full; free space, then run the same command with "
                "--resume"
            )


class Watch:
    """Passes messages on, with what is wrong at clients, and explains long waits."""

    def __init__(
        self,
        conditions: Conditions,
        folders: Sequence[Path],
        quiet: float,
        on_message: OnMessage,
    ) -> None:
        self.conditions, self._folders = conditions, folders
        self._quiet, self._on_message = quiet, on_message
        self._latest = time.monotonic()

    def say(self, line: dict[str, Any]) -> None:
        """Pass a message on."""
        self._latest = time.monotonic()
        self._on_message(line)

    def check_space(self) -> None:
        """Raise if a disk of the server is full: a better reason than what follows from it."""
        check_space(self._folders)

    def look(self, describe_wait: Callable[[], str]) -> None:
        """Say what is wrong at clients, and what a wait is for if it takes long."""
        for condition in self.conditions.find_new():
            self.say({"message": str(condition)})
        if time.monotonic() - self._latest > self._quiet:
            self.say({"message": describe_wait()})
