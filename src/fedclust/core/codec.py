"""Encodes requests and replies of a round as frames, and decodes them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from ..typing import Array
from .errors import Code, ConfigError, MessageError, Rejected
from .loop import Plan, Request
from .message import Message, Record
from .transform import Transform
from .wire import LARGEST, Frame, pack, unpack

R = TypeVar("R", bound=Record)
ROUND, REPLY, REFUSAL = "round", "reply", "refusal"
_PLAN, _DOWN = "plan.", "down."
_MAX_TEXT = 500
# Larger values could overflow in the sum over all clients.
_LARGEST = {4: 1e35, 8: 1e300}


@dataclass(frozen=True, eq=False)
class PlanConfig:
    """A plan as plain values and arrays, from which a client builds its own copy."""

    name: str  # of the algorithm's class: an algorithm and a seeding may share a key
    settings: Mapping[str, Any]
    transforms: tuple[tuple[str, Mapping[str, Any]], ...]
    seed: int


Build = Callable[[PlanConfig], Plan]


@dataclass(frozen=True, eq=False)
class DecodedRequest:
    """A request as a client receives it."""

    id: str
    plan: Plan
    request: Request
    data: Any  # which of the client's rows to use, and how to prepare them


def encode_request(
    plan: Plan, request: Request, *, id: str = "", about: Any = None, data: Any = None
) -> bytes:
    """Encode a round's request with its plan, because clients keep no state between rounds.

    `about` names the study, `data` the client's rows and their preparation.
    """
    header, arrays = encode_plan(plan)
    arrays |= {_DOWN + n: a for n, a in request.down.arrays().items()}
    header |= {
        "kind": ROUND,
        "id": id,
        "round": request.round,
        "cohort": list(request.cohort),
        "about": about,
        "data": data,
    }
    return pack(header, arrays)


def encode_plan(plan: Plan) -> Frame:
    """Encode a plan: the names of its classes and the values of their fields, never code."""
    settings = _fields(plan.algorithm)
    header = {
        "algorithm": type(plan.algorithm).__name__,
        "settings": {n: _plain(v) for n, v in settings.items() if not isinstance(v, np.ndarray)},
        "transforms": [[type(t).__name__, _settings(t)] for t in plan.transforms],
        "seed": int(plan.seed),
    }
    return Frame(header, {_PLAN + n: v for n, v in settings.items() if isinstance(v, np.ndarray)})


def decode_plan(frame: Frame) -> PlanConfig:
    """Inverse of `encode_plan`, up to the classes, which a registry looks up."""
    header, arrays = frame
    return PlanConfig(
        get_text(header, "algorithm"),
        {**get_table(header, "settings"), **_part(arrays, _PLAN)},
        _decode_transforms(header.get("transforms")),
        get_integer(header, "seed"),
    )


def decode_request(frame: Frame, build: Build) -> DecodedRequest:
    """Decode a request; `build` makes the plan from the classes that are installed here."""
    header, arrays = frame
    try:
        plan = build(decode_plan(frame))
    except ConfigError as error:  # it concerns the request, not this client
        raise MessageError(str(error)) from None
    cohort = header.get("cohort")
    if not isinstance(cohort, list) or not all(isinstance(c, str) for c in cohort):
        raise MessageError("'cohort' is not a list of client names")
    if set(arrays) - {n for n in arrays if n.startswith((_PLAN, _DOWN))}:
        raise MessageError(
            "unexpected arrays: they belong neither to the plan nor to the broadcast"
        )
    down = decode_record(plan.algorithm.down, _part(arrays, _DOWN))
    request = Request(get_integer(header, "round"), tuple(cohort), down)
    return DecodedRequest(get_text(header, "id"), plan, request, header.get("data"))


def encode_reply(
    message: Message | None,
    *,
    answers: str = "",
    client: str = "",
    values: Any = None,
    seal: str = "",
) -> bytes:
    """Encode a client's message, or plain values, and the id of the request they answer.

    In a followed study the seal shows other clients whose reply it is.
    """
    header = {"kind": REPLY, "answers": answers, "client": client, "values": values}
    header |= {"seal": seal} if seal else {}
    return pack(header, message.arrays() if message else {})


def encode_refusal(code: Code, text: str, *, answers: str = "", client: str = "") -> bytes:
    """Encode a refusal: a code for programs and a public text."""
    refusal = {"kind": REFUSAL, "code": code.value, "why": one_line(text)}
    return pack({**refusal, "answers": answers, "client": client}, {})


def decode_answer(raw: bytes, *, answers: str, client: str, limit: int = LARGEST) -> Frame:
    """Decode an answer and check that this client sent it in reply to this request."""
    frame = unpack(raw, limit)
    header = frame.header
    if get_text(header, "client") != client:
        raise MessageError(
            f"the answer names another client: {one_line(get_text(header, 'client'))!r}"
        )
    if get_text(header, "answers") != answers:
        raise MessageError("the answer belongs to another request: it is late or a duplicate")
    if header.get("kind") == REFUSAL:
        raise Rejected(_code_of(header), one_line(get_text(header, "why")))
    if header.get("kind") != REPLY:
        raise MessageError("the answer is neither a reply nor a refusal")
    return frame


def _code_of(header: Mapping[str, Any]) -> Code:
    try:
        return Code(get_text(header, "code"))
    except ValueError:
        return Code.INTERNAL


def decode_message(frame: Frame, kind: type[R], sizes: Mapping[str, int]) -> R:
    """Decode the message of a reply and check the shapes and values of its arrays."""
    message = decode_record(kind, frame.arrays)
    message.check(sizes)
    check_summable(frame)
    return message


def check_summable(frame: Frame) -> None:
    """Reject values that are not finite or could overflow in a sum over clients."""
    for name, array in frame.arrays.items():
        limit = _LARGEST.get(array.itemsize, np.inf) if array.dtype.kind == "f" else np.inf
        if not (np.abs(array) <= limit).all():
            raise MessageError(
                f"array {name!r} holds values that are not finite, or too large to be summed"
            )


def decode_record(kind: type[R], arrays: Mapping[str, Array]) -> R:
    """Build a record from named arrays; a MessageError if they do not fit."""
    try:
        return kind.from_arrays(arrays)
    except (TypeError, ValueError, OverflowError) as problem:  # MessageError is a ValueError
        raise MessageError(f"not a {kind.__name__}: {one_line(str(problem))}") from None


def one_line(text: str) -> str:
    """Make text of unknown origin safe for a console: one printable line of limited length."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable[:_MAX_TEXT]


def get_text(header: Mapping[str, Any], name: str) -> str:
    """A header entry that must be text."""
    value = header.get(name)
    if not isinstance(value, str):
        raise MessageError(f"{name!r} is not text")
    return value


def get_integer(header: Mapping[str, Any], name: str) -> int:
    """A header entry that must be an integer."""
    value = header.get(name)
    if type(value) is not int:
        raise MessageError(f"{name!r} is not an integer")
    return value


def get_table(header: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A header entry that must be a table."""
    value = header.get(name)
    if not isinstance(value, dict):
        raise MessageError(f"{name!r} is not a table")
    return value


def _fields(owner: Any) -> dict[str, Any]:
    return {f.name: getattr(owner, f.name) for f in fields(owner)}


def _settings(transform: Transform) -> dict[str, Any]:
    return {name: _plain(value) for name, value in _fields(transform).items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _part(arrays: Mapping[str, Array], start: str) -> dict[str, Array]:
    return {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}


def _decode_transforms(entries: Any) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    if not isinstance(entries, list):
        raise MessageError("'transforms' is not a list")
    for entry in entries:
        is_pair = isinstance(entry, list) and len(entry) == 2
        if not is_pair or not isinstance(entry[0], str) or not isinstance(entry[1], dict):
            raise MessageError("'transforms': expected pairs of a name and a table of settings")
    return tuple((name, settings) for name, settings in entries)
