"""A study in a job that records the end of each round and the bytes sent."""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fedclust.channels import Transport
from fedclust.core import Plan, Round
from fedclust.deploy.job import StudyJob
from fedclust.study.phases import Phase


class CountingTransport:
    """A transport that counts the bytes in each direction."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.down = self.up = 0  # of the last exchange, per client

    def clients(self) -> Any:
        """See `Transport`."""
        return self._transport.clients()

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        """See `Transport`."""
        self.down = len(request)
        for client, answer in self._transport.exchange(clients, request, seconds):
            self.up = len(answer)
            yield client, answer


class TimedStudy(StudyJob):
    """A study that also writes the end of each round and its plan to a file."""

    def __init__(self, out: str, **settings: Any) -> None:
        super().__init__(**settings)
        self._out, self._ends = Path(out), list[dict[str, Any]]()

    def run(self, transport: Transport, ready: Sequence[str]) -> None:
        """Run the study and write the times."""
        self._counting = CountingTransport(transport)
        super().run(self._counting, ready)
        self._out.write_text(json.dumps({"rounds": self._ends}))

    def _note_round(self, phase: Phase, plan: Plan, done: Round) -> None:
        super()._note_round(phase, plan, done)
        sizes = {"down": self._counting.down, "up": self._counting.up}
        self._ends.append({"plan": plan.algorithm.key, "end": time.time(), **sizes})
