"""The federated loop: all algorithms, seedings and scores run through it, on every engine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from typing import Any, Protocol, cast

from ..typing import Rng
from . import checks
from .algorithm import Algorithm, Data, Schema
from .batches import Batches
from .channel import Channel, quorum_of, reasons_of
from .errors import ConfigError, DataError, EmptyRound, MessageError, Reason, TooFewClients
from .message import Message, Record
from .random import NO_RANDOMNESS, stream
from .transform import RoundContext, Transform, check_order, prepare, prepare_source, receive, send

AnyAlgorithm = Algorithm[Any, Any, Any]
SERVER = "server"
_COHORT = "cohort"


@dataclass(frozen=True)
class Plan:
    """What server and clients agree on before the first round."""

    algorithm: AnyAlgorithm
    transforms: tuple[Transform, ...] = ()
    seed: int = 0
    purpose: str = field(
        default="", compare=False
    )  # a label for the record of the run; it is not sent

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, Algorithm):
            raise ConfigError(
                f"Plan: algorithm must be an Algorithm (see fedclust.make), got {self.algorithm!r}"
            )
        check_order(self.transforms, self.algorithm)

    def rng(self, party: str, number: int) -> Rng:
        """Random numbers of one party in one round; they depend on seed, party and round only."""
        return stream(self.seed, party, number)

    @property
    def needs_all(self) -> bool:
        """Whether a round fails if any client of its cohort does not reply."""
        return self.algorithm.partition == "vertical" or any(t.needs_all for t in self.transforms)


@dataclass(frozen=True)
class ClientSampling:
    """Which clients take part in each round."""

    fraction: float = 1.0
    min_clients: int = 1

    def __post_init__(self) -> None:
        checks.number(self, "fraction", 0.0, 1.0, above=True)
        checks.integer(self, "min_clients")

    def cohort(self, clients: Sequence[str], make_rng: Callable[[], Rng]) -> tuple[str, ...]:
        """Draw the clients of a round; they are sorted by id."""
        sorted_clients = sorted(clients)
        size = max(self.min_clients, round(self.fraction * len(sorted_clients)))
        if size >= len(sorted_clients):
            return tuple(sorted_clients)
        drawn = make_rng().choice(len(sorted_clients), size, replace=False)
        return tuple(sorted_clients[i] for i in sorted(drawn))


ALL_CLIENTS = ClientSampling()
_ONE = ClientSampling(fraction=1e-9)


@dataclass(frozen=True, eq=False)
class Request:
    """The server's request to the clients of a round."""

    round: int
    cohort: tuple[str, ...]
    down: Record
    only: tuple[str, ...] | None = None  # recipients within the cohort; None: all

    @property
    def to(self) -> tuple[str, ...]:
        """The recipients. A repeated request to some of the cohort is still the same request."""
        return self.cohort if self.only is None else self.only


@dataclass(frozen=True, eq=False)
class Round:
    """The result of one round: enough to continue the run bit for bit."""

    number: int
    state: Any
    cohort: tuple[str, ...]  # the clients that replied
    bytes_down: int = 0
    sent: Mapping[str, int] = field(default_factory=dict)  # bytes, by client
    sampling: ClientSampling = ALL_CLIENTS

    @property
    def bytes_up(self) -> int:
        """Bytes that all clients sent in this round."""
        return sum(self.sent.values())


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: its result and its communication costs."""

    algorithm: AnyAlgorithm
    state: Any
    history: tuple["RoundSummary", ...]  # of the rounds run here, without those before a resume
    sent: Mapping[str, int]  # bytes up, by client, over these rounds
    n_rounds: int  # all rounds, including those before a resume

    @cached_property
    def model(self) -> Any:
        """The result, such as centres or an index."""
        return self.algorithm.model(self.state)


@dataclass(frozen=True)
class RoundSummary:
    """Summary of one round, for the history of a run."""

    round: int
    n_clients: int
    shift: float  # how far the centres moved (the papers' tolerance index); NaN without centres
    bytes_down: int
    bytes_up: int


def respond(plan: Plan, request: Request, client: str, data: Data | Batches) -> Message:
    """Compute a client's reply in a round. It keeps no state, so it can be repeated."""
    algorithm = plan.algorithm
    # The prefix keeps the random numbers of a client named "server" apart from the server's.
    rng = plan.rng(f"client {client}", request.round) if algorithm.traits.draws else NO_RANDOMNESS
    context = RoundContext(
        request.round, client, request.cohort, len(data), plan, request.down, data
    )
    if data.policy is not None:
        data.policy.admit(context)  # the client's own policy comes before the plan
    if algorithm.partition == "horizontal" and algorithm.traits.reads_rows:
        data = prepare_source(plan.transforms, data, context)

    def step(rows: Data) -> Message:
        if algorithm.partition == "horizontal":
            rows = prepare(plan.transforms, rows, context)
            _refuse_missing(algorithm, rows, client)
        return cast(Message, algorithm.client_step(request.down, rows, rng))

    message = (
        _step_over_batches(algorithm, data, step, rng) if isinstance(data, Batches) else step(data)
    )
    released: Message = algorithm.release(message)
    return send(plan.transforms, released, context)


def _refuse_missing(algorithm: AnyAlgorithm, rows: Data, client: str) -> None:
    """Refuse missing cells, unless the algorithm can cope with them."""
    traits = algorithm.traits
    if traits.reads_rows and not traits.missing and rows.has_missing:
        raise DataError(
            f"client {client!r}: {algorithm.key} needs complete rows, and some cells are missing; "
            "drop such rows or fill the cells, or choose an algorithm for missing cells"
        )


def can_stream(algorithm: AnyAlgorithm) -> bool:
    """Whether the client step can run over batches, without all rows in memory."""
    return algorithm.traits.additive or algorithm.traits.samples or not algorithm.traits.reads_rows


def _step_over_batches(
    algorithm: AnyAlgorithm, data: Batches, step: Callable[[Data], Message], rng: Rng
) -> Message:
    """Run the client step over rows that do not fit into memory."""
    if algorithm.traits.additive:
        return reduce(lambda total, part: total.plus(part), map(step, data))
    if algorithm.traits.samples:
        # A step that draws nothing always gets the same sample.
        return step(data.sample(rng if algorithm.traits.draws else stream(0, "sample", 0)))
    if not algorithm.traits.reads_rows:
        return step(data.without_rows())
    raise ConfigError(
        f"{algorithm.key} needs all rows of a client in memory at once; for rows read in batches "
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
    """Run the plan and yield after every round: iterate to observe, break to stop."""
    algorithm = plan.algorithm
    if plan.needs_all and sampling.fraction < 1:
        raise ConfigError(
            f"{algorithm.key} needs every client in every round: fraction must be 1, "
            f"got {sampling.fraction:g}"
        )
    if algorithm.traits.one_client:
        sampling = _ONE
    if resume and resume.sampling != sampling:
        raise ConfigError(
            f"resume: the run began with {resume.sampling}, now {sampling}; "
            "resume with the same settings, or start a new run"
        )
    number = resume.number + 1 if resume else 0
    state = resume.state if resume else algorithm.start(schema, plan.rng(SERVER, -1))
    first = resume.cohort if resume else None
    while not algorithm.done(state):
        make_rng = partial(plan.rng, _COHORT, number)
        cohort = _choose_cohort(sampling, tuple(channel.clients()), make_rng)
        first = first or cohort
        if algorithm.partition == "vertical" and cohort != first:
            raise TooFewClients(_describe_owner_change(number, first, cohort))
        request = Request(number, cohort, algorithm.broadcast(state))
        replies = dict(channel.ask(plan, request))
        required = max(sampling.min_clients, min(quorum_of(channel), len(cohort)))
        answered = _require_replies(plan, required, request, replies, reasons_of(channel))
        down = request.down.nbytes * len(cohort)
        del request  # frees memory: a broadcast may be as large as the merged message
        merged = _merge_replies(plan, schema, number, [(c, replies[c]) for c in answered])
        context = RoundContext(number, SERVER, answered, 0, plan)
        merged = receive(plan.transforms, merged, context)
        state = algorithm.server_step(state, merged, plan.rng(SERVER, number))
        sent = _sizes_of(replies, answered)
        yield Round(number, state, answered, down, sent, sampling)
        number += 1


def run(
    plan: Plan,
    channel: Channel,
    schema: Schema,
    *,
    sampling: ClientSampling = ALL_CLIENTS,
    resume: Round | None = None,
    on_round: Callable[[Round], object] | None = None,
) -> Run:
    """Run the plan to its end, and call `on_round` after every round."""
    last, history, sent = resume, [], dict.fromkeys(channel.clients(), 0)
    for last in rounds(plan, channel, schema, sampling=sampling, resume=resume):
        shift = getattr(last.state, "shift", float("nan"))
        history.append(
            RoundSummary(last.number, len(last.cohort), shift, last.bytes_down, last.bytes_up)
        )
        for client, size in last.sent.items():
            sent[client] = sent.get(client, 0) + size
        if on_round is not None:
            on_round(last)
    state = last.state if last else plan.algorithm.start(schema, plan.rng(SERVER, -1))
    n_rounds = last.number + 1 if last else 0
    return Run(plan.algorithm, state, tuple(history), sent, n_rounds)


class Runner(Protocol):
    """A function that runs a plan to its end, such as `run`; others also keep a journal."""

    def __call__(
        self,
        plan: Plan,
        channel: Channel,
        schema: Schema,
        *,
        sampling: ClientSampling = ALL_CLIENTS,
    ) -> Run:
        """Run the plan to its end."""


def _choose_cohort(
    sampling: ClientSampling, clients: tuple[str, ...], make_rng: Callable[[], Rng]
) -> tuple[str, ...]:
    if len(clients) < sampling.min_clients:
        raise TooFewClients(
            f"{len(clients)} clients are connected, but min_clients={sampling.min_clients}"
        )
    return sampling.cohort(clients, make_rng)


def _describe_owner_change(number: int, first: tuple[str, ...], now: tuple[str, ...]) -> str:
    changes = (sorted(set(first) - set(now)), "left"), (sorted(set(now) - set(first)), "joined")
    listed = "; ".join(f"{', '.join(names)} {what}" for names, what in changes if names)
    return f"round {number}: the owners must stay the same in all rounds; {listed}"


def _require_replies(
    plan: Plan,
    required: int,
    request: Request,
    replies: Mapping[str, Message],
    reasons: Mapping[str, Reason],
) -> tuple[str, ...]:
    """The clients that replied, sorted by id, which is the order of every merge."""
    answered, n = tuple(sorted(replies)), len(request.cohort)
    required = n if plan.needs_all else required
    if len(answered) < required or not answered:
        missing = ", ".join(sorted(set(request.cohort) - set(answered)))
        needed = f", {required} are needed" if reasons else f"; no answer from {missing}"
        key = plan.algorithm.key
        raise TooFewClients(
            f"{key}, round {request.round}: {len(answered)} of {n} clients answered{needed}",
            reasons,
            missing=required - len(answered),
        )
    return answered


def _sizes_of(replies: Mapping[str, Message], clients: Sequence[str]) -> dict[str, int]:
    """Bytes of every message; a channel may give one object for several clients."""
    sizes = {
        id(message): message.nbytes for message in {id(m): m for m in replies.values()}.values()
    }
    return {client: sizes[id(replies[client])] for client in clients}


def _without_neutral(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages without a neutral one that a channel gave for several clients."""
    distinct = {id(message): message for message in messages}
    if len(distinct) == len(messages):
        return messages
    neutral = {number for number, message in distinct.items() if message.is_empty()}
    return [message for message in messages if id(message) not in neutral] or messages[:1]


def _merge_replies(
    plan: Plan, schema: Schema, number: int, replies: Sequence[tuple[str, Message]]
) -> Message:
    """Check type, shape and values of all replies, and merge them into one message."""
    kind, sizes = plan.algorithm.up, plan.algorithm.sizes(schema)
    checked: set[int] = set()  # a channel may give one object for several clients
    for client, message in replies:
        if id(message) in checked:
            continue
        checked.add(id(message))
        if type(message) is not kind:
            raise MessageError(
                f"round {number}: client {client!r} sent a {type(message).__name__}, "
                f"expected {kind.__name__}"
            )
        try:
            message.check(sizes)
        except MessageError as problem:
            raise MessageError(f"round {number}: client {client!r}: {problem}") from None
    merged = kind.merge(_without_neutral([message for _, message in replies]))
    if not merged.is_finite():
        culprits = ", ".join(repr(c) for c, m in replies if not m.is_finite()) or "their sum"
        raise MessageError(f"round {number}: values that are not finite, from {culprits}")
    if merged.is_empty():
        raise EmptyRound(
            f"round {number}: all {len(replies)} replies are empty: the clients have no rows, "
            "privacy rules withheld everything, or public bounds are so wide that sums round to 0"
        )
    return merged
