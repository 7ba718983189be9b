"""Requests and replies as frames: what is asked, of which plan, and what is answered."""

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
_LONGEST_SENTENCE = 500
# Beyond these the sum of all clients' numbers might be none.
_LARGEST = {4: 1e35, 8: 1e300}


@dataclass(frozen=True, eq=False)
class PlanConfig:
    """A plan as plain values and arrays: all that a client needs to build it itself."""

    name: str  # of the algorithm's class: a key may be that of an algorithm and of a seeding
    settings: Mapping[str, Any]
    transforms: tuple[tuple[str, Mapping[str, Any]], ...]
    seed: int


Build = Callable[[PlanConfig], Plan]


@dataclass(frozen=True, eq=False)
class DecodedRequest:
    """A request as it arrives at a client."""

    id: str
    plan: Plan
    request: Request
    data: Any  # which of the client's rows, in which form


def encode_request(
    plan: Plan, request: Request, *, id: str = "", about: Any = None, data: Any = None
) -> bytes:
    """A round's request, with the plan it belongs to: clients keep nothing between rounds.

    `about` says on whose behalf it is asked, `data` of which of the client's rows.
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
    """A plan as plain values and arrays: the name and fields of an algorithm, never its code."""
    settings = _fields(plan.algorithm)
    header = {
        "algorithm": type(plan.algorithm).__name__,
        "settings": {n: _plain(v) for n, v in settings.items() if not isinstance(v, np.ndarray)},
        "transforms": [[type(t).__name__, _settings(t)] for t in plan.transforms],
        "seed": int(plan.seed),
    }
    return Frame(header, {_PLAN + n: v for n, v in settings.items() if isinstance(v, np.ndarray)})


def decode_plan(frame: Frame) -> PlanConfig:
    """Inverse of `describe`, as far as it goes without a registry."""
    header, arrays = frame
    return PlanConfig(
        text(header, "algorithm"),
        {**table(header, "settings"), **_part(arrays, _PLAN)},
        _transforms(header.get("transforms")),
        integer(header, "seed"),
    )


def decode_request(frame: Frame, build: Build) -> DecodedRequest:
    """The request that a frame holds; `build` makes the plan, of what is installed here."""
    header, arrays = frame
    try:
        plan = build(decode_plan(frame))
    except ConfigError as error:  # it speaks of the request, not of this client
        raise MessageError(str(error)) from None
    cohort = header.get("cohort")
    if not isinstance(cohort, list) or not all(isinstance(c, str) for c in cohort):
        raise MessageError("the cohort is not a list of names")
    if set(arrays) - {n for n in arrays if n.startswith((_PLAN, _DOWN))}:
        raise MessageError("arrays came that are neither the plan's nor the broadcast's")
    down = record_of(plan.algorithm.down, _part(arrays, _DOWN))
    request = Request(integer(header, "round"), tuple(cohort), down)
    return DecodedRequest(text(header, "id"), plan, request, header.get("data"))


def encode_reply(
    message: Message | None, *, answers: str = "", client: str = "", values: Any = None
) -> bytes:
    """A client's message or a few plain values, and the request that they answer."""
    header = {"kind": REPLY, "answers": answers, "client": client, "values": values}
    return pack(header, message.arrays() if message else {})


def encode_refusal(code: Code, text: str, *, answers: str = "", client: str = "") -> bytes:
    """A refusal: the code by which the server decides, and the public text."""
    refusal = {"kind": REFUSAL, "code": code.value, "why": one_line(text)}
    return pack({**refusal, "answers": answers, "client": client}, {})


def answer_to(raw: bytes, *, answers: str, client: str, limit: int = LARGEST) -> Frame:
    """The frame of an answer, once it is known to be this client's to this request."""
    frame = unpack(raw, limit)
    header = frame.header
    if text(header, "client") != client:
        raise MessageError(f"the answer is signed {one_line(text(header, 'client'))!r}")
    if text(header, "answers") != answers:
        raise MessageError("the answer is to another request: it is stale, or was sent twice")
    if header.get("kind") == REFUSAL:
        raise Rejected(_code_of(header), one_line(text(header, "why")))
    if header.get("kind") != REPLY:
        raise MessageError("neither a reply nor a refusal")
    return frame


def _code_of(header: Mapping[str, Any]) -> Code:
    try:
        return Code(text(header, "code"))
    except ValueError:
        return Code.INTERNAL


def message_of(frame: Frame, kind: type[R], sizes: Mapping[str, int]) -> R:
    """The message in a reply, once its arrays have the announced shapes and finite values."""
    message = record_of(kind, frame.arrays)
    message.check(sizes)
    summable(frame)
    return message


def summable(frame: Frame) -> None:
    """Refuse numbers that could not be added up with those of others."""
    for name, array in frame.arrays.items():
        most = _LARGEST.get(array.itemsize, np.inf) if array.dtype.kind == "f" else np.inf
        if not (np.abs(array) <= most).all():
            raise MessageError(f"{name!r} holds values that are not finite, or too large to add up")


def record_of(kind: type[R], arrays: Mapping[str, Array]) -> R:
    """The record that named arrays are, or a MessageError."""
    try:
        return kind.from_arrays(arrays)
    except (TypeError, ValueError, OverflowError) as problem:  # MessageError is a ValueError
        raise MessageError(f"not a {kind.__name__}: {one_line(str(problem))}") from None


def one_line(words: str) -> str:
    """A sentence from elsewhere, fit for a console: one line, printable, not endless."""
    shown = "".join(c if c.isprintable() else " " for c in words)
    return shown[:_LONGEST_SENTENCE]


def text(header: Mapping[str, Any], name: str) -> str:
    """An entry of a header that must be text."""
    found = header.get(name)
    if not isinstance(found, str):
        raise MessageError(f"{name!r} is not text")
    return found


def integer(header: Mapping[str, Any], name: str) -> int:
    """An entry of a header that must be a whole number."""
    found = header.get(name)
    if type(found) is not int:
        raise MessageError(f"{name!r} is not an integer")
    return found


def table(header: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An entry of a header that must be a table."""
    found = header.get(name)
    if not isinstance(found, dict):
        raise MessageError(f"{name!r} is not a table")
    return found


def _fields(owner: Any) -> dict[str, Any]:
    return {f.name: getattr(owner, f.name) for f in fields(owner)}


def _settings(transform: Transform) -> dict[str, Any]:
    return {name: _plain(value) for name, value in _fields(transform).items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _part(arrays: Mapping[str, Array], start: str) -> dict[str, Array]:
    return {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}


def _transforms(given: Any) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    if not isinstance(given, list):
        raise MessageError("'transforms' is not a list")
    for one in given:
        fits = isinstance(one, list) and len(one) == 2
        if not fits or not isinstance(one[0], str) or not isinstance(one[1], dict):
            raise MessageError("a transform is its name and its settings")
    return tuple((name, settings) for name, settings in given)
