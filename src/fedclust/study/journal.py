"""Every run of a study on disk as it goes: a study that is stopped goes on where it was."""

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
    Channel,
    ClientSampling,
    ConfigError,
    Message,
    Plan,
    Request,
    Round,
    RoundSummary,
    Run,
    Schema,
    Wrapper,
    load_round,
    rounds,
    save_round,
)
from ..core.files import append_line, write_text
from ..privacy import IntegerGaussian

_PAUSE = 1.0  # seconds between two savings of one run: a round may take less than its saving

OnRound = Callable[[str, Plan, Round], None]  # with the phase of the study


@dataclass(frozen=True)
class Told:
    """What clients told in one run."""

    phase: str
    purpose: str  # of the plan within the phase, if it says
    rounds: int
    says: str  # what a message of this run says, in words
    sent: Mapping[str, int]  # bytes by client
    took_part: Mapping[str, int]  # rounds by client
    paid_again: float = 0.0  # squares of mu of noisy rounds that were asked more than once


class Journal:
    """Runs plans as `fedclust.core.run` does, and saves what is needed to go on.

    The runs of a study follow one another in one order, so a run is known by its number. What is
    saved is checked against the plan: a journal of another study is refused, not continued.
    """

    def __init__(self, folder: Path, agreement: str, on_round: OnRound | None = None) -> None:
        self._folder, self._on_round = folder, on_round
        self._next = 0
        self.phase = "preparing"  # what the next runs are for
        self.told: list[Told] = []
        folder.mkdir(parents=True, exist_ok=True)
        self.agree("study.txt", agreement, "the study or a client's file has changed")

    def agree(self, file: str, agreement: str, otherwise: str) -> None:
        """Write down what must stay as it is while the run goes on; refuse if it did not."""
        noted = self._folder / file
        if noted.exists() and noted.read_text(encoding="utf-8") != agreement:
            raise ConfigError(
                f"{self._folder.parent}: {otherwise} since this run was stopped; start anew, "
                "without --resume"
            )
        write_text(noted, agreement)

    def note(self, done: Run) -> None:
        """Put on record what clients told in a run that is made anew whenever a study goes on."""
        says = inspect.cleandoc(done.algorithm.up.__doc__ or "").splitlines()[0]
        rounds_of = dict.fromkeys(done.sent, done.n_rounds)
        self.told.append(Told(self.phase, "", done.n_rounds, says, done.sent, rounds_of))

    def __call__(
        self,
        plan: Plan,
        channel: Channel,
        schema: Schema,
        *,
        sampling: ClientSampling = ALL_CLIENTS,
    ) -> Run:
        """Run the plan to its end, from where an earlier process left it."""
        place, self._next = self._folder / f"{self._next:05d}", self._next + 1
        left = last = self._left(place, plan)
        kept = _Kept.of(place, left)
        costs = [t.mu**2 for t in plan.transforms if isinstance(t, IntegerGaussian)]
        asked = place.with_suffix(".asked")
        if costs:  # a noisy round that is asked again is paid for again: none is asked for nothing
            channel = _Noted(channel, asked)
        saved = time.monotonic()
        for last in rounds(plan, channel, schema, sampling=sampling, resume=left):
            kept.add(last)
            if costs or time.monotonic() - saved > _PAUSE:
                self._save(place, plan, last, kept)
                saved = time.monotonic()
            if self._on_round:
                self._on_round(self.phase, plan, last)
        if last is not None:
            self._save(place, plan, last, kept)
        n_asked = len(asked.read_text(encoding="utf-8").splitlines()) if asked.exists() else 0
        paid_again = sum(costs) * (n_asked - len(kept.lines))
        return self._finished(plan, schema, last, kept, paid_again)

    def _finished(
        self, plan: Plan, schema: Schema, last: Round | None, kept: "_Kept", paid_again: float
    ) -> Run:
        says = inspect.cleandoc(plan.algorithm.up.__doc__ or "").splitlines()[0]
        sent, n_rounds = kept.sent, len(kept.lines)
        told = Told(self.phase, plan.purpose, n_rounds, says, sent, kept.rounds, paid_again)
        self.told.append(told)
        state = last.state if last else plan.algorithm.start(schema, plan.rng("server", -1))
        number = last.number + 1 if last else 0
        return Run(plan.algorithm, state, tuple(kept.lines), sent, number)

    def _left(self, place: Path, plan: Plan) -> Round | None:
        saved = place.with_suffix(".npz")
        return load_round(saved, plan) if saved.exists() else None

    def _save(self, place: Path, plan: Plan, last: Round, kept: "_Kept") -> None:
        """Both files are whole at any time; the history may be one saving ahead of the state."""
        write_text(place.with_suffix(".json"), json.dumps(kept.as_config()))
        save_round(place.with_suffix(".npz"), plan, last)


class _Noted(Wrapper):
    """A channel that writes down every query before it is sent."""

    def __init__(self, channel: Channel, file: Path) -> None:
        super().__init__(channel)
        self._file = file

    def ask(self, plan: Plan, request: Request) -> Iterable[tuple[str, Message]]:
        append_line(self._file, str(request.round))
        return self.channel.ask(plan, request)


class _Kept:
    """The history of a run, round by round, so that what is ahead of the state can be cut off."""

    def __init__(self) -> None:
        self.lines: list[RoundSummary] = []
        self._sent: list[dict[str, int]] = []

    def add(self, last: Round) -> None:
        shift = getattr(last.state, "shift", float("nan"))
        self.lines.append(
            RoundSummary(last.number, len(last.cohort), shift, last.bytes_down, last.bytes_up)
        )
        self._sent.append(dict(last.sent))

    @property
    def sent(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for sent in self._sent:
            total.update(sent)
        return dict(total)

    @property
    def rounds(self) -> dict[str, int]:
        return dict(Counter(client for sent in self._sent for client in sent))

    def as_config(self) -> dict[str, Any]:
        return {"lines": [asdict(line) for line in self.lines], "sent": self._sent}

    @classmethod
    def of(cls, place: Path, last: Round | None) -> Self:
        kept = cls()
        if last is not None:
            told = json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))
            n = last.number + 1
            kept.lines = [RoundSummary(**line) for line in told["lines"]][:n]
            kept._sent = told["sent"][:n]
        return kept
