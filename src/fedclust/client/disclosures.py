"""The disclosure log: a line of JSON for every message that leaves a client."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..core import DataError, Message
from ..core.files import append_line
from .requests import (
    Alignment,
    AnyReply,
    AnyRequest,
    PreflightReport,
    RecordsOffer,
    RunRound,
    Written,
)


def describe_reply(request: AnyRequest, reply: AnyReply) -> dict[str, Any]:
    """What a reply discloses, for the log."""
    match reply:
        case PreflightReport():
            counts = {} if reply.counts is None else reply.counts._asdict()
            problems = [f"{p.column}: {p.code}" if p.column else p.code for p in reply.problems]
            return {"what": {"numbers": list(reply.numbers), "problems": problems, **counts}}
        case RecordsOffer():
            return {"what": {"records": reply.records, "columns": reply.width}}
        case Alignment():
            return {"what": {"records": reply.records}}
        case Written():
            return {"what": {}, "wrote": reply.file}
    return _describe_round(request, reply)


def _describe_round(request: AnyRequest, message: Message) -> dict[str, Any]:
    if not isinstance(request, RunRound):
        raise TypeError(request)
    plan = request.plan
    return {
        "plan": plan.algorithm.key,
        "round": request.request.round,
        "what": {name: list(array.shape) for name, array in message.arrays().items()},
        "says": "nothing" if message.is_empty() else "numbers",
        "transforms": [str(transform) for transform in plan.transforms],
    }


class LoggedCount(NamedTuple):
    """How many queries the ledger counted when a message was logged."""

    queries: int
    when: str


def last_count(path: Path) -> LoggedCount | None:
    """The last count in a log; None if it has none."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    end = len(text)
    while (end := text.rfind(b'"queries": ', 0, end)) >= 0:
        try:
            line = json.loads(text[text.rfind(b"\n", 0, end) + 1 :].partition(b"\n")[0])
            return LoggedCount(int(line["queries"]), str(line["when"]))
        except (ValueError, KeyError, TypeError):  # text of a client, or an incomplete line
            continue
    return None


def write_disclosure(path: Path, raw: bytes, entry: Mapping[str, Any]) -> None:
    """Append a line; it is on disk before the message is sent."""
    line = {
        "when": datetime.now(UTC).isoformat(timespec="milliseconds"),
        **entry,
        "bytes": len(raw),
        "sha256": hashlib.sha256(raw).hexdigest(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    append_line(path, json.dumps(line))


def read_disclosures(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log, oldest first."""
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    entry = json.loads(line)
                except ValueError:
                    raise DataError(f"{path}:{number}: not a valid line of JSON") from None
                yield entry
    except FileNotFoundError:
        return
