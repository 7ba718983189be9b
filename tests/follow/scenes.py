"""A followed study, frozen before each of its steps, so that a server can do otherwise there."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedclust.core.wire import Frame, pack, unpack
from fedclust.follow.endpoint import FollowingEndpoint

from ..support.following import Federation, Sites

AUTHOR = "coordinator"


def step_of(request: bytes) -> int | None:
    return unpack(request).header.get("step")


class Recording(Sites):
    """An honest server that keeps everything, and kits as they were before each step."""

    def __init__(self, federation: Federation, shelf: Path) -> None:
        super().__init__(federation)
        self.shelf = shelf
        self.asked: dict[int, bytes] = {}
        self.answers: dict[int, dict[str, bytes]] = {}
        self.opening = b""

    def exchange(self, clients: Sequence[str], request: bytes, seconds: float) -> Any:
        step = step_of(request)
        if step is None:
            self.opening = self.opening or request
        elif step not in self.asked:
            self.asked[step] = request
            for name in self.federation.rows:
                copy = self.shelf / str(step) / name
                shutil.copytree(self.federation.folder / name, copy, dirs_exist_ok=True)
        for client, answer in super().exchange(clients, request, seconds):
            if step is not None and isinstance(answer, bytes):
                self.answers.setdefault(step, {})[client] = answer
            yield client, answer


@dataclass(frozen=True, eq=False)
class Recorded:
    """What an honest run looks like."""

    federation: Federation
    record: Recording

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.federation.rows)

    def step(self, what: str, round: int = 0) -> int:
        """The first step that asks for an algorithm, by class, or that is of a kind."""
        for step, raw in sorted(self.record.asked.items()):
            header = unpack(raw).header
            named = header.get("algorithm") if header["kind"] == "round" else header["kind"]
            if named == what and header.get("round", 0) == round:
                return step
        raise LookupError(what)

    def before(self, step: int, folder: Path) -> "Scene":
        """The kits as they were before a step."""
        shutil.copytree(self.record.shelf / str(step), folder, dirs_exist_ok=True)
        return Scene(self, step, folder)


@dataclass(eq=False)
class Scene:
    """A server that may send any bytes to the clients of a run before one of its steps."""

    recorded: Recorded
    step: int
    folder: Path
    sites: dict[str, FollowingEndpoint] = field(default_factory=dict)

    @property
    def request(self) -> Frame:
        """The honest request of the step."""
        return unpack(self.recorded.record.asked[self.step])

    def site(self, client: str) -> FollowingEndpoint:
        if client not in self.sites:
            self.restart(client)
        return self.sites[client]

    def restart(self, client: str) -> None:
        """Another process of a client."""
        self.sites[client] = FollowingEndpoint(self.folder / client, client, "s")

    def ask(self, request: Frame | bytes, client: str = "c00") -> Frame:
        raw = request if isinstance(request, bytes) else pack(*request)
        return unpack(self.site(client).answer(raw, AUTHOR))

    def logged(self, client: str = "c00") -> dict[str, Any]:
        """The newest line of a client's log of disclosures."""
        lines = (self.folder / client / "disclosures.jsonl").read_text().splitlines()
        return dict(json.loads(lines[-1]))

    def queries(self, client: str = "c00") -> int:
        """Lines of the client's ledger."""
        ledger = self.folder / client / "ledger.jsonl"
        return len(ledger.read_text().splitlines()) if ledger.exists() else 0


def record_run(folder: Path, rows: Any, **options: Any) -> Recorded:
    """An honest run of a study."""
    federation = Federation(folder / "kits", rows, **options)
    record = Recording(federation, folder / "shelf")
    federation.run(folder / "out", record)
    return Recorded(federation, record)


def is_refused(answer: Frame, code: str) -> bool:
    """Whether an answer is a refusal with this code, and nothing else."""
    header = answer.header
    known = {"kind", "code", "why", "answers", "client"}
    return (
        header["kind"] == "refusal"
        and header["code"] == code
        and set(header) <= known
        and (not answer.arrays)
    )
