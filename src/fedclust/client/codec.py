"""Requests and replies as frames: conversion between typed objects and bytes.

A frame that is not exactly a request of a known kind is a `MessageError`. Nothing is read from a
file before the whole request is understood.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.registry import build_plan
from ..clustering.model import Model
from ..clustering.preparation import Column, Preparation
from ..clustering.preparation.prepare import SCALINGS
from ..core import ConfigError, DataError, Message, MessageError, Plan
from ..core.codec import (
    ROUND,
    decode_request,
    encode_plan,
    encode_reply,
    get_table,
    get_text,
    one_line,
)
from ..core.wire import Frame
from ..results import build
from ..typing import Array
from .files import RowCounts
from .problems import Problem
from .requests import (
    Alignment,
    AlignRecords,
    AnyReply,
    AnyRequest,
    Caller,
    ColumnTask,
    EncodedRows,
    FinishColumns,
    OfferRecords,
    Preflight,
    PreflightReport,
    PreparedRows,
    RecordsOffer,
    RecordTokens,
    RowForm,
    RunRound,
    SharedRecords,
    WriteLabels,
    Written,
)

# Scales beyond these could probe at which one values overflow.
_LARGEST, _SMALLEST = 1e30, 1e-30
_UNREADABLE = (TypeError, KeyError, ValueError, AttributeError)


class Encoded(NamedTuple):
    """A request other than a round, ready for a channel."""

    kind: str
    header: dict[str, Any]
    arrays: dict[str, Array]


def encode(request: AnyRequest) -> Encoded:
    """A request as plain values and arrays; rounds are encoded by their channel."""
    match request:
        case Preflight():
            columns = request.columns
            header: dict[str, Any] = {
                "columns": None if columns is None else [column.as_config() for column in columns],
                "algorithm": request.algorithm,
                "counts": request.counts,
                "needs_memory": request.needs_memory,
                **({"partial": True} if request.partial else {}),
            }
            return Encoded("preflight", header, {})
        case WriteLabels(model):
            arrays = {"centers": model.centers}
            if model.density is not None:
                arrays["density"] = model.density
            return Encoded("label", _model_header(model), arrays)
        case OfferRecords():
            return Encoded("offer", {"task": request.task.as_config()}, {})
        case AlignRecords():
            header = {"task": request.task.as_config()}
            return Encoded("align", header, {"shared": request.shared})
        case FinishColumns():
            return _encode_finish(request)
    raise TypeError(request)


def _model_header(model: Model) -> dict[str, Any]:
    return {
        "ids": list(model.ids),
        "algorithm": model.algorithm,
        "fuzzifier": model.fuzzifier,
        "preparation": model.preparation.as_config(),
    }


def _encode_finish(request: FinishColumns) -> Encoded:
    header, arrays = encode_plan(Plan(replace(request.algorithm, init=None)))
    arrays |= {f"down.{name}": array for name, array in request.last.arrays().items()}
    header |= {"round": 0, "cohort": [], "data": request.rows.as_config()}
    return Encoded("finish", {**header, "labels": request.labels}, arrays)


def decode(frame: Frame) -> AnyRequest:
    """The request that a frame holds."""
    header, kind = frame.header, get_text(frame.header, "kind")
    match kind:
        case "preflight":
            return _decode_preflight(header)
        case "label":
            return WriteLabels(_decode_model(frame))
        case "offer":
            return OfferRecords(_decode_task(header.get("task")))
        case "align":
            shared = frame.arrays.get("shared")
            if shared is None:
                raise MessageError("the request has no shared records")
            return AlignRecords(_decode_task(header.get("task")), shared)
        case "finish":
            return _decode_finish(frame)
    if kind != ROUND:
        raise MessageError(f"unknown kind of request {kind[:40]!r}")
    decoded = decode_request(frame, build_plan)
    return RunRound(decoded.plan, decoded.request, decode_rows(decoded.data))


def decode_caller(frame: Frame, author: str) -> Caller:
    """The caller of the request in a frame."""
    study = get_text(get_table(frame.header, "about"), "study")
    return Caller(study, author, get_text(frame.header, "id").partition("/")[0])


def _decode_preflight(header: Mapping[str, Any]) -> Preflight:
    if "columns" not in header:  # null asks for all numeric columns; absent is malformed
        raise MessageError("the preflight does not say which columns")
    columns = header["columns"]
    return Preflight(
        None if columns is None else _decode_columns(columns),
        get_text(header, "algorithm"),
        bool(header.get("counts")),
        get_text(header, "needs_memory"),
        bool(header.get("partial")),
    )


def _decode_model(frame: Frame) -> Model:
    header, centers = frame.header, frame.arrays.get("centers")
    preparation = _decode_preparation(header.get("preparation"))
    ids, fuzzifier = header.get("ids"), header.get("fuzzifier")
    if centers is None or centers.ndim != 2 or centers.shape[1] != len(preparation.names):
        raise MessageError("labels need centres with one value for each column")
    if not isinstance(ids, list) or {type(id) for id in ids} != {int} or len(ids) != len(centers):
        raise MessageError("labels need an integer id for each centre")
    sizes = (None,) * len(ids)  # not sent: they are about other clients
    density = frame.arrays.get("density")
    if density is not None and density.shape != (len(centers), 1 + 3 * centers.shape[1]):
        raise MessageError("labels need a density with one weight for each cell of the centres")
    key = get_text(header, "algorithm")
    return Model(centers, tuple(ids), sizes, preparation, key, fuzzifier, density=density)


def _decode_finish(frame: Frame) -> FinishColumns:
    from ..algorithms import VERTICAL  # few studies split columns

    decoded = decode_request(frame, build_plan)
    algorithm: Any = decoded.plan.algorithm
    rows = decode_rows(decoded.data)
    if type(algorithm) not in VERTICAL.values() or not isinstance(rows, SharedRecords):
        raise MessageError(f"{algorithm.key} cannot finish a study over split columns")
    labels = bool(frame.header.get("labels", True))
    return FinishColumns(rows, algorithm, decoded.request.down, labels)


def decode_rows(given: Any) -> RowForm:
    """The form of rows that a request describes; all rounds of a plan describe the same one."""
    return _decode_form(json.dumps(given, sort_keys=True))


@lru_cache(maxsize=4)
def _decode_form(described: str) -> RowForm:
    match json.loads(described):
        case {"task": task, "records": str(records)}:
            return SharedRecords(_decode_task(task), records)
        case {"task": task}:
            return RecordTokens(_decode_task(task))
        case {"preparation": preparation}:
            return PreparedRows(_decode_preparation(preparation))
        case {"columns": columns, "partial": True}:
            return EncodedRows(_decode_columns(columns), partial=True)
        case {"columns": columns}:
            return EncodedRows(_decode_columns(columns))
    raise MessageError("the request does not describe the rows that it needs")


def _decode_columns(given: Any) -> tuple[Column, ...]:
    if not isinstance(given, list) or not given:
        raise MessageError("the request names no columns")
    try:
        return tuple(build(Column, column, "column") for column in given)
    except (DataError, ConfigError):
        raise MessageError("the request's columns are not readable") from None


def _decode_preparation(given: Any) -> Preparation:
    try:
        found = Preparation.from_config(given)
    except _UNREADABLE:
        raise MessageError("the request's preparation is not readable") from None
    n = len(found.names)
    if any(len(values) != n for values in (found.offset, found.scale)):
        raise MessageError("the request's preparation has no usable scale")
    if not np.isfinite([found.offset, found.scale]).all() or not (found.scale > 0).all():
        raise MessageError("the request's preparation has no usable scale")
    largest = max(found.scale.max(), np.abs(found.offset).max())
    if found.scale.min() < _SMALLEST or largest > _LARGEST:
        raise MessageError("the request's preparation has an extreme scale")
    if found.fill is not None and (len(found.fill) != n or not np.isfinite(found.fill).all()):
        raise MessageError("the request's preparation does not fill all columns")
    return found


def _decode_task(given: Any) -> ColumnTask:
    try:
        columns, scaling, missing = (given[name] for name in ("columns", "scaling", "missing"))
    except _UNREADABLE:
        raise MessageError("the task over split columns is not readable") from None
    if scaling not in SCALINGS or missing not in ("drop", "mean"):
        raise MessageError("the task over split columns is not readable")
    return ColumnTask(None if columns is None else _decode_columns(columns), scaling, missing)


def encode_answer(reply: AnyReply, *, answers: str, client: str, seal: str = "") -> bytes:
    """A reply as bytes: arrays for a round, plain values for everything else."""
    if isinstance(reply, Message):
        return encode_reply(reply, answers=answers, client=client, seal=seal)
    return encode_reply(None, answers=answers, client=client, values=values_of(reply), seal=seal)


def values_of(reply: AnyReply) -> dict[str, Any]:
    """A reply other than a message, as plain values."""
    match reply:
        case PreflightReport():
            problems = [[p.column, p.code, p.blocking] for p in reply.problems]
            counts = {} if reply.counts is None else reply.counts._asdict()
            return {"problems": problems, "numbers": list(reply.numbers), **counts}
        case RecordsOffer():  # names of columns stay with the client
            problems = [["", p.code, p.blocking] for p in reply.problems]
            return {"problems": problems, "records": reply.records, "columns": reply.width}
        case Alignment():
            return {"records": reply.records, "fingerprint": reply.fingerprint}
        case Written():
            return {"written": True}
    raise TypeError(reply)


def decode_preflight_report(client: str, values: Any) -> PreflightReport | None:
    """What a client reports of its data; None if its answer is malformed."""
    try:
        counts = RowCounts(values["rows"], values["complete"]) if "rows" in values else None
        numbers = tuple(str(name) for name in values["numbers"])
        problems = _decode_problems(client, values["problems"])
    except _UNREADABLE:
        return None
    if counts is not None and not _are_counts(counts.complete, counts.rows):
        return None
    return PreflightReport(problems, counts, numbers)


def decode_offer(client: str, values: Any) -> RecordsOffer | None:
    """What a client over split columns reports; None if its answer is malformed."""
    try:
        problems = _decode_problems(client, values["problems"])
        records, width = values["records"], values["columns"]
    except _UNREADABLE:
        return None
    return RecordsOffer(problems, records, width) if _are_counts(records, width, 0) else None


def decode_alignment(values: Any) -> Alignment | None:
    """A client's confirmation that it aligned its rows; None if its answer is malformed."""
    try:
        return Alignment(int(values["records"]), one_line(str(values["fingerprint"])))
    except _UNREADABLE:
        return None


def _decode_problems(client: str, given: Any) -> tuple[Problem, ...]:
    return tuple(
        Problem(client, one_line(code), one_line(column), blocking=bool(blocking))
        for column, code, blocking in given
    )


def _are_counts(*values: Any) -> bool:
    """Whether these are counts; the first two in ascending order."""
    if any(type(n) is not int or n < 0 for n in values):
        return False
    return len(values) > 2 or values[0] <= values[1]
