"""The journal of a study: its runs are saved on disk, so that an interrupted study can resume."""

import inspect
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from ..core import (
    ALL_CLIENTS,
    AnyAlgorithm,
    Channel,
    ClientSampling,
    ConfigError,
    Message,
    Plan,
    Request,
    Round,
    RoundSummary,
    Run,
    Runner,
    Schema,
    Wrapper,
    load_round,
    rounds,
    save_round,
)
from ..core.files import append_line, write_text
from ..privacy import IntegerGaussian
from .phases import Phase

_PAUSE = 1.0  # seconds between two saves of a run: a save can take longer than a round

OnRound = Callable[[Phase, Plan, Round], None]


@dataclass(frozen=True)
class RunRecord:
    """What clients sent in one run."""

    phase: str
    purpose: str  # of the plan within the phase; may be empty
    rounds: int
    message: str  # the content of a message, in words
    sent: Mapping[str, int]  # bytes by client
    client_rounds: Mapping[str, int]  # rounds that each client answered
    repeated_cost: float = 0.0  # sum of mu squared over noisy rounds that were sent again


class Journal:
    """Runs plans as `fedclust.core.run` does, and saves what is needed to resume.

    A study always runs its plans in the same order, so a run is identified by its number. A saved
    run is checked against its plan: the journal of another study is refused. Without a folder
    nothing is saved.
    """

    def __init__(self, folder: Path | None, on_round: OnRound | None = None) -> None:
        self._folder, self._on_round = folder, on_round
        self._next = 0
        self.records: list[RunRecord] = []
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def check_unchanged(self, file: str, content: str, change: str) -> None:
        """Save what must not change until the study is finished; refuse if it has changed."""
        if self._folder is None:
            return
        path = self._folder / file
        if path.exists() and path.read_text(encoding="utf-8") != content:
            raise ConfigError(
                f"{self._folder.parent} cannot be continued: {change} since this run was "
                "interrupted; start again with --force"
            )
        write_text(path, content)

    def add_run(self, phase: Phase, done: Run) -> None:
        """Record a run that is not saved, because every process has to run it."""
        client_rounds = dict.fromkeys(done.sent, done.n_rounds)
        message = describe_message(done.algorithm)
        record = RunRecord(phase, "", done.n_rounds, message, done.sent, client_rounds)
        self.records.append(record)

    def runner(self, phase: Phase) -> Runner:
        """A runner whose runs belong to a phase of the study."""

        def run(
            plan: Plan,
            channel: Channel,
            schema: Schema,
            *,
            sampling: ClientSampling = ALL_CLIENTS,
        ) -> Run:
            return self._run(phase, plan, channel, schema, sampling)

        return run

    def _run(
        self, phase: Phase, plan: Plan, channel: Channel, schema: Schema, sampling: ClientSampling
    ) -> Run:
        """Run the plan to its end, continuing where an earlier process stopped."""
        if self._folder is None:
            return self._run_unsaved(phase, plan, channel, schema, sampling)
        path, self._next = self._folder / f"{self._next:05d}", self._next + 1
        resume = last = _load(path, plan)
        history = _History.load(path, resume)
        costs = [t.mu**2 for t in plan.transforms if isinstance(t, IntegerGaussian)]
        queries = path.with_suffix(".asked")
        if costs:  # a noisy round that is sent again costs budget again, so every query is logged
            channel = _QueryLog(channel, queries)
        saved = time.monotonic()
        for last in rounds(plan, channel, schema, sampling=sampling, resume=resume):
            history.add(last)
            if costs or time.monotonic() - saved > _PAUSE:
                _save(path, plan, last, history)
                saved = time.monotonic()
            if self._on_round:
                self._on_round(phase, plan, last)
        if last is not None:
            _save(path, plan, last, history)
        n_queries = len(queries.read_text(encoding="utf-8").splitlines()) if queries.exists() else 0
        repeated_cost = sum(costs) * (n_queries - len(history.lines))
        return self._finish(phase, plan, schema, last, history, repeated_cost)

    def _run_unsaved(
        self, phase: Phase, plan: Plan, channel: Channel, schema: Schema, sampling: ClientSampling
    ) -> Run:
        last, history = None, _History()
        for last in rounds(plan, channel, schema, sampling=sampling):
            history.add(last)
            if self._on_round:
                self._on_round(phase, plan, last)
        return self._finish(phase, plan, schema, last, history)

    def _finish(
        self,
        phase: Phase,
        plan: Plan,
        schema: Schema,
        last: Round | None,
        history: "_History",
        repeated_cost: float = 0.0,
    ) -> Run:
        self.records.append(history.summarize(phase, plan, repeated_cost))
        state = last.state if last else plan.algorithm.start(schema, plan.rng("server", -1))
        number = last.number + 1 if last else 0
        sent = self.records[-1].sent
        return Run(plan.algorithm, state, tuple(history.lines), sent, number)


def describe_message(algorithm: AnyAlgorithm) -> str:
    """The content of a client's message, in the words of its class."""
    return inspect.cleandoc(algorithm.up.__doc__ or "").splitlines()[0]


def _load(path: Path, plan: Plan) -> Round | None:
    saved = path.with_suffix(".npz")
    return load_round(saved, plan) if saved.exists() else None


def _save(path: Path, plan: Plan, last: Round, history: "_History") -> None:
    """Each file is replaced as a whole; the history may be one save ahead of the state."""
    write_text(path.with_suffix(".json"), json.dumps(history.as_config()))
    save_round(path.with_suffix(".npz"), plan, last)


class _QueryLog(Wrapper):
    """A channel that logs every query before it is sent."""

    def __init__(self, channel: Channel, file: Path) -> None:
        super().__init__(channel)
        self._file = file

    def ask(self, plan: Plan, request: Request) -> Iterable[tuple[str, Message]]:
        append_line(self._file, str(request.round))
        return self.channel.ask(plan, request)


class _History:
    """The rounds of a run; rounds that are ahead of the saved state are dropped on loading."""

    def __init__(self) -> None:
        self.lines: list[RoundSummary] = []
        self._sent: list[dict[str, int]] = []

    def add(self, last: Round) -> None:
        shift = getattr(last.state, "shift", float("nan"))
        self.lines.append(
            RoundSummary(last.number, len(last.cohort), shift, last.bytes_down, last.bytes_up)
        )
        self._sent.append(dict(last.sent))

    def summarize(self, phase: str, plan: Plan, repeated_cost: float) -> RunRecord:
        """The record of the whole run."""
        total: Counter[str] = Counter()
        for sent in self._sent:
            total.update(sent)
        client_rounds = dict(Counter(client for sent in self._sent for client in sent))
        message = describe_message(plan.algorithm)
        n = len(self.lines)
        return RunRecord(phase, plan.purpose, n, message, dict(total), client_rounds, repeated_cost)

    def as_config(self) -> dict[str, Any]:
        return {"lines": [asdict(line) for line in self.lines], "sent": self._sent}

    @classmethod
    def load(cls, path: Path, last: Round | None) -> Self:
        history = cls()
        if last is not None:
            saved = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            n = last.number + 1
            history.lines = [RoundSummary(**line) for line in saved["lines"]][:n]
            history._sent = saved["sent"][:n]
        return history
