"""The loop, once: every algorithm, seeding and score, on every engine, runs through it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, Protocol, cast

from ..typing import Rng
from . import checks
from .algorithm import Algorithm, Data, Schema
from .batches import Batches
from .channel import Channel, quorum_of, reasons_of
from .errors import ConfigError, EmptyRound, MessageError, Reason, TooFewClients
from .message import Message, Record
from .random import NO_RANDOMNESS, stream
from .transform import RoundContext, Transform, check_order, prepare, receive, send

AnyAlgorithm = Algorithm[Any, Any, Any]
SERVER = "server"
_COHORT = "cohort"


@dataclass(frozen=True)
class Plan:
    """What both sides agree on before the first round."""

    algorithm: AnyAlgorithm
    transforms: tuple[Transform, ...] = ()
    seed: int = 0
    purpose: str = field(default="", compare=False)  # for the record of a run; it is not sent

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, Algorithm):
            raise ConfigError(
                f"Plan: algorithm must be made by fedclust.make, got {self.algorithm!r}"
            )
        check_order(self.transforms, self.algorithm)

    def rng(self, party: str, number: int) -> Rng:
        """One party's random numbers in one round: a function of seed, party and round."""
        return stream(self.seed, party, number)

    @property
    def needs_all(self) -> bool:
        """Whether a round without one of its cohort is no round."""
        return self.algorithm.partition == "vertical" or any(t.needs_all for t in self.transforms)


@dataclass(frozen=True)
class ClientSampling:
    """Who is asked in each round."""

    fraction: float = 1.0
    min_clients: int = 1

    def __post_init__(self) -> None:
        checks.number(self, "fraction", 0.0, 1.0, above=True)
        checks.integer(self, "min_clients")

    def cohort(self, clients: Sequence[str], rng: Rng) -> tuple[str, ...]:
        """The clients of a round, drawn afresh, in the order of their ids."""
        everyone = sorted(clients)
        size = max(self.min_clients, round(self.fraction * len(everyone)))
        if size >= len(everyone):
            return tuple(everyone)
        return tuple(everyone[i] for i in sorted(rng.choice(len(everyone), size, replace=False)))


ALL_CLIENTS = ClientSampling()
_ONE = ClientSampling(fraction=1e-9)


@dataclass(frozen=True, eq=False)
class Request:
    """What a client is asked."""

    round: int
    cohort: tuple[str, ...]
    down: Record
    only: tuple[str, ...] | None = None  # those of the cohort to send it to, if not to all

    @property
    def to(self) -> tuple[str, ...]:
        """Whom it is sent to: asking some of the cohort again is the same request."""
        return self.cohort if self.only is None else self.only


@dataclass(frozen=True, eq=False)
class Round:
    """What happened in one round: enough to continue from here, bit for bit."""

    number: int
    state: Any
    cohort: tuple[str, ...]  # those that answered
    bytes_down: int = 0
    sent: Mapping[str, int] = field(default_factory=dict)  # bytes, by client
    sampling: ClientSampling = ALL_CLIENTS

    @property
    def bytes_up(self) -> int:
        """Bytes all clients sent in this round."""
        return sum(self.sent.values())


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: its outcome, and what it cost."""

    algorithm: AnyAlgorithm
    state: Any
    history: tuple["RoundSummary", ...]  # of the rounds run here: after a resume, those since
    sent: Mapping[str, int]  # bytes up, by client, over these rounds
    n_rounds: int  # all rounds, those before a resume included

    @cached_property
    def model(self) -> Any:
        """The outcome: centres, an index, or what the algorithm calls it."""
        return self.algorithm.model(self.state)


@dataclass(frozen=True)
class RoundSummary:
    """One line of a run's history."""

    round: int
    n_clients: int
    shift: float  # how far the centres moved (the papers' tolerance index); NaN where none do
    bytes_down: int
    bytes_up: int


def respond(plan: Plan, request: Request, client: str, data: Data | Batches) -> Message:
    """All a client ever does in a round. Stateless, hence safe to repeat."""
    algorithm = plan.algorithm
    # A client may be called "server": its random numbers must still be its own.
    rng = plan.rng(f"client {client}", request.round) if algorithm.traits.draws else NO_RANDOMNESS
    context = RoundContext(
        request.round, client, request.cohort, len(data), plan, request.down, data
    )
    if data.policy is not None:
        data.policy.admit(context)  # the client's own rules come before the plan's

    def step(rows: Data) -> Message:
        if algorithm.partition == "horizontal":
            rows = prepare(plan.transforms, rows, context)
        return cast(Message, algorithm.client_step(request.down, rows, rng))

    message = _over_batches(algorithm, data, step, rng) if isinstance(data, Batches) else step(data)
    released: Message = algorithm.release(message)
    return send(plan.transforms, released, context)


def streams(algorithm: AnyAlgorithm) -> bool:
    """Whether its client step can run over batches, without all rows in memory."""
    return algorithm.traits.additive or algorithm.traits.samples or not algorithm.traits.reads_rows


def _over_batches(
    algorithm: AnyAlgorithm, data: Batches, step: Callable[[Data], Message], rng: Rng
) -> Message:
    """The step over rows that do not fit into memory: what sums can be streamed."""
    if algorithm.traits.additive:
        return reduce(lambda total, part: total.plus(part), map(step, data))
    if algorithm.traits.samples:
        return step(data.sample(rng))
    if not algorithm.traits.reads_rows:
        return step(data.without_rows())
    raise ConfigError(
        f"{algorithm.key} needs all rows of a client in memory at once; with rows read in batches "
        "choose a lossless algorithm"
    )


def rounds(
    plan: Plan,
    channel: Channel,
    schema: Schema,
    *,
    sampling: ClientSampling = ALL_CLIENTS,
    resume: Round | None = None,
) -> Iterator[Round]:
    """Run the plan, yielding after every round: iterate to observe, break to stop."""
    algorithm = plan.algorithm
    if plan.needs_all and sampling.fraction < 1:
        raise ConfigError(
            f"{algorithm.key}: every client takes part in every round; fraction must be 1"
        )
    if algorithm.traits.one_client:
        sampling = _ONE
    if resume and resume.sampling != sampling:
        raise ConfigError(
            f"resume: the run began with {resume.sampling}, now {sampling}; "
            "resume with the same, or start anew"
        )
    number = resume.number + 1 if resume else 0
    state = resume.state if resume else algorithm.start(schema, plan.rng(SERVER, -1))
    first = resume.cohort if resume else None
    while not algorithm.done(state):
        cohort = _asked(sampling, tuple(channel.clients()), plan.rng(_COHORT, number))
        first = first or cohort
        if algorithm.partition == "vertical" and cohort != first:
            raise TooFewClients(_other_owners(number, first, cohort))
        request = Request(number, cohort, algorithm.broadcast(state))
        replies = dict(channel.ask(plan, request))
        least = max(sampling.min_clients, min(quorum_of(channel), len(cohort)))
        answered = _enough(plan, least, request, replies, reasons_of(channel))
        down = request.down.nbytes * len(cohort)
        del request  # a broadcast may be as large as a merge: not both at once
        merged = _merged(plan, schema, number, [(c, replies[c]) for c in answered])
        context = RoundContext(number, SERVER, answered, 0, plan)
        merged = receive(plan.transforms, merged, context)
        state = algorithm.server_step(state, merged, plan.rng(SERVER, number))
        sent = {client: replies[client].nbytes for client in answered}
        yield Round(number, state, answered, down, sent, sampling)
        number += 1


def run(
    plan: Plan,
    channel: Channel,
    schema: Schema,
    *,
    sampling: ClientSampling = ALL_CLIENTS,
    resume: Round | None = None,
) -> Run:
    """Run the plan to its end."""
    last, history, sent = resume, [], dict.fromkeys(channel.clients(), 0)
    for last in rounds(plan, channel, schema, sampling=sampling, resume=resume):
        shift = getattr(last.state, "shift", float("nan"))
        history.append(
            RoundSummary(last.number, len(last.cohort), shift, last.bytes_down, last.bytes_up)
        )
        for client, size in last.sent.items():
            sent[client] = sent.get(client, 0) + size
    state = last.state if last else plan.algorithm.start(schema, plan.rng(SERVER, -1))
    n_rounds = last.number + 1 if last else 0
    return Run(plan.algorithm, state, tuple(history), sent, n_rounds)


class Runner(Protocol):
    """Whatever runs a plan to its end: `run`, or one that also keeps a journal of it."""

    def __call__(
        self,
        plan: Plan,
        channel: Channel,
        schema: Schema,
        *,
        sampling: ClientSampling = ALL_CLIENTS,
    ) -> Run:
        """Run the plan to its end."""


def _asked(sampling: ClientSampling, clients: tuple[str, ...], rng: Rng) -> tuple[str, ...]:
    if len(clients) < sampling.min_clients:
        raise TooFewClients(
            f"{len(clients)} clients are there, but min_clients={sampling.min_clients}"
        )
    return sampling.cohort(clients, rng)


def _other_owners(number: int, first: tuple[str, ...], now: tuple[str, ...]) -> str:
    absent, odd = sorted(set(first) - set(now)), sorted(set(now) - set(first))
    listed = ((absent, "left"), (odd, "came"))
    said = "; ".join(f"{', '.join(names)} {what}" for names, what in listed if names)
    return f"round {number}: every owner is needed from the first round to the last; {said}"


def _enough(
    plan: Plan,
    least: int,
    request: Request,
    replies: Mapping[str, Message],
    reasons: Mapping[str, Reason],
) -> tuple[str, ...]:
    """Those that answered, in the order of their ids, which is the order of every merge."""
    answered, n = tuple(sorted(replies)), len(request.cohort)
    least = n if plan.needs_all else least
    if len(answered) < least or not answered:
        silent = ", ".join(sorted(set(request.cohort) - set(answered)))
        needed = f", {least} are needed" if reasons else f"; no answer from {silent}"
        key = plan.algorithm.key
        raise TooFewClients(
            f"{key}, round {request.round}: {len(answered)} of {n} clients answered{needed}",
            reasons,
        )
    return answered


def _merged(
    plan: Plan, schema: Schema, number: int, replies: Sequence[tuple[str, Message]]
) -> Message:
    """One message for all, once each has the announced kind, shape and finite values."""
    kind, sizes = plan.algorithm.up, plan.algorithm.sizes(schema)
    for client, message in replies:
        if type(message) is not kind:
            raise MessageError(
                f"round {number}: client {client!r} sent a {type(message).__name__}, "
                f"expected {kind.__name__}"
            )
        try:
            message.check(sizes)
        except MessageError as problem:
            raise MessageError(f"round {number}: client {client!r}: {problem}") from None
    merged = kind.merge([message for _, message in replies])
    if not merged.is_finite():
        culprits = ", ".join(repr(c) for c, m in replies if not m.is_finite()) or "their sum"
        raise MessageError(f"round {number}: values that are not finite numbers from {culprits}")
    if merged.is_empty():
        raise EmptyRound(
            f"round {number}: none of the {len(replies)} clients had anything to send: they have "
            "no rows, or privacy rules withheld all they have"
        )
    return merged
