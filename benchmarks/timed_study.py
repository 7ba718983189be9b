"""A study as a job runs it, which notes when each round was over and what it sent."""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fedclust.channels import Transport
from fedclust.core import Plan, Round
from fedclust.deploy.job import StudyJob


class Weighed:
    """A transport that notes how many bytes went each way."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.down = self.up = 0  # of the last exchange, per client

    def clients(self) -> Any:
        """As the transport has it."""
        return self._transport.clients()

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        """As the transport has it."""
        self.down = len(request)
        for client, answer in self._transport.exchange(clients, request, seconds):
            self.up = len(answer)
            yield client, answer


class TimedStudy(StudyJob):
    """A study as it always runs; when a round of which plan was over is written beside it."""

    def __init__(self, out: str, **settings: Any) -> None:
        super().__init__(**settings)
        self._out, self._ends = Path(out), list[dict[str, Any]]()

    def run(self, transport: Transport, ready: Sequence[str]) -> None:
        """Run it, and leave the times."""
        self._weighed = Weighed(transport)
        super().run(self._weighed, ready)
        self._out.write_text(json.dumps({"rounds": self._ends}))

    def _report_round(self, phase: str, plan: Plan, done: Round) -> None:
        super()._report_round(phase, plan, done)
        sizes = {"down": self._weighed.down, "up": self._weighed.up}
        self._ends.append({"plan": plan.algorithm.key, "end": time.time(), **sizes})
