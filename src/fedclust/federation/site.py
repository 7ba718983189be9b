"""A client across the network: bytes in, bytes out, and never an exception.

It opens the file that its own client.toml names, builds the plans of the fedclust it has installed,
and refuses what client.toml does not allow. What leaves is on record before it leaves.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core import Data, DataError, FedclustError, MessageError, Schema, respond
from ..core.envelope import (
    ROUND,
    decode_request,
    described,
    encode_refusal,
    encode_reply,
    table,
    text,
)
from ..core.files import write_text
from ..core.wire import Frame, unpack
from ..plans import build_plan
from ..preprocessing import Column, Preparation, encoded
from ..study.folder import labels_csv
from ..study.preflight import problems_of
from ..study.tables import Columns, read_table
from ..typing import BoolArray
from .client_file import CLIENT_FILE, ClientFile, read_client_file
from .consent import allow_caller, allow_columns, allow_plan
from .disclosures import write_disclosure

LOOK, LABEL = "look", "label"
_KEPT_FORMS = 2  # the encoded columns, and the prepared rows
_log = logging.getLogger(__name__)


class Form(NamedTuple):
    """The client's rows in one form, and which rows of its file they are."""

    data: Data
    kept: BoolArray


class Site:
    """One client's side of every study."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._forms: dict[str, Form] = {}
        self._answered = 0

    @cached_property
    def _file(self) -> ClientFile:
        return read_client_file(self._folder / CLIENT_FILE)

    @cached_property
    def _table(self) -> Columns:
        return read_table(self._file.files(), self._file.data["gaps"], self._file.data["id"])

    def answer(self, raw: bytes, author: str = "") -> bytes:
        """The reply to a request, or the sentence that refuses it."""
        id, entry = "", {"to": author, "client": self._name}
        try:
            frame = unpack(raw)
            id = text(frame.header, "id")
            study = text(table(frame.header, "about"), "study")
            entry |= {"study": study, "kind": text(frame.header, "kind")}
            allow_caller(self._file, study, author)
            reply = self._handler(entry["kind"])(frame, id, entry)
        except DataError as problem:  # may speak of values: those who have them may read it
            _log.error("%s", problem)
            reply = self._refusal("its data do not fit; its own log says how", id, entry)
        except FedclustError as problem:
            reply = self._refusal(str(problem), id, entry)
        except Exception:
            _log.exception("a request could not be answered")
            reply = self._refusal("an unexpected error; its own log says which", id, entry)
        return self._on_record(reply, entry, id)

    def _handler(self, kind: str) -> Callable[[Frame, str, dict[str, Any]], bytes]:
        handlers = {ROUND: self._round, LOOK: self._look, LABEL: self._label}
        if kind not in handlers:
            raise MessageError(f"there is no request of kind {kind[:40]!r}")
        return handlers[kind]

    def _refusal(self, why: str, id: str, entry: dict[str, Any]) -> bytes:
        entry["refused"] = why
        return encode_refusal(why, answers=id, client=self._name)

    def _on_record(self, reply: bytes, entry: dict[str, Any], id: str) -> bytes:
        """What cannot be put on record does not leave."""
        try:
            path = self._file.place(self._file.output["disclosures"])
        except FedclustError:
            path = self._folder / "disclosures.jsonl"
        try:
            write_disclosure(path, reply, entry)
        except OSError:
            _log.exception("the disclosure log cannot be written")
            return encode_refusal(
                "its disclosure log cannot be written", answers=id, client=self._name
            )
        return reply

    def _round(self, frame: Frame, id: str, entry: dict[str, Any]) -> bytes:
        asked = decode_request(frame, build_plan)
        plan, request = asked.plan, asked.request
        form = self._form(asked.data)
        n_features = form.data.X.shape[1]
        allow_plan(self._file, plan, n_features, self._answered)
        request.down.check(plan.algorithm.sizes(Schema(n_features)))
        message = respond(plan, request, self._name, form.data)
        if not message.is_finite():
            raise MessageError("what it computed are not finite numbers")
        self._answered += 1
        entry |= {
            "plan": plan.algorithm.key,
            "round": request.round,
            "what": {name: list(array.shape) for name, array in message.arrays().items()},
            "says": "nothing" if message.says_nothing() else "numbers",
            "transforms": [str(transform) for transform in plan.transforms],
        }
        return encode_reply(message, answers=id, client=self._name)

    def _look(self, frame: Frame, id: str, entry: dict[str, Any]) -> bytes:
        """How many rows there are, and what is wrong with them: counts, never values."""
        wanted = frame.header.get("columns")
        id_column = self._file.data["id"]
        numbers = [n for n, v in self._table.items() if v.dtype.kind in "fiu" and n != id_column]
        allowed = self._file.consent["columns"]
        if wanted is None:
            numbers = [name for name in numbers if not allowed or name in allowed]
            columns: Sequence[Column] = [Column(name) for name in numbers]
        else:
            columns = _columns(wanted)
            allow_columns(self._file, [column.name for column in columns])
        found = problems_of(self._name, self._table, tuple(columns), id_column)
        # Behind a colon stand values, such as categories that were not declared.
        problems = [[p.column, p.what.partition(":")[0], p.stops] for p in found]
        told = {
            "rows": len(next(iter(self._table.values()))),
            "numbers": numbers if wanted is None else [],
            "problems": problems,
        }
        entry["what"] = {name: told[name] for name in ("rows", "numbers")}
        return encode_reply(None, answers=id, client=self._name, told=told)

    def _label(self, frame: Frame, id: str, entry: dict[str, Any]) -> bytes:
        """Write the labels of the client's own rows; they stay here."""
        algorithm = build_plan(described(frame)).algorithm
        centers = frame.arrays.get("centers")
        form = self._form(frame.header.get("data"))
        if centers is None or centers.ndim != 2 or centers.shape[1] != form.data.X.shape[1]:
            raise MessageError("labels need centres of as many columns as there are")
        ids = self._table[self._file.data["id"]] if self._file.data["id"] else None
        written = labels_csv(algorithm, centers, form.data.X, form.kept, ids)
        folder = self._file.place(self._file.output["labels"])
        folder.mkdir(parents=True, exist_ok=True)
        name = "".join(c if c.isalnum() or c in "-_" else "_" for c in entry["study"])
        write_text(folder / f"{name or 'study'}.csv", written)
        entry["what"] = {}
        return encode_reply(None, answers=id, client=self._name, told={"labels": "written"})

    def _form(self, wanted: Any) -> Form:
        """The rows in a form, made once and kept for the rounds to come."""
        if not isinstance(wanted, dict):
            raise MessageError("the request does not say of which rows")
        name = json.dumps(wanted, sort_keys=True)
        if name not in self._forms:
            while len(self._forms) >= _KEPT_FORMS:
                del self._forms[next(iter(self._forms))]
            self._forms[name] = self._made(wanted)
        return self._forms[name]

    def _made(self, wanted: Mapping[str, Any]) -> Form:
        if "preparation" in wanted:
            preparation = _preparation(wanted["preparation"])
            allow_columns(self._file, [column.name for column in preparation.columns])
            rows, kept = preparation.apply(self._table, "this client")
            return Form(Data.of(rows, client="this client"), kept)
        columns = _columns(wanted.get("columns"))
        allow_columns(self._file, [column.name for column in columns])
        rows = encoded(columns, self._table, "this client")
        return Form(Data(rows, np.empty(0)), np.ones(len(rows), dtype=bool))


def _columns(given: Any) -> list[Column]:
    try:
        found = [Column(**{**c, "categories": tuple(c["categories"])}) for c in given]
    except (TypeError, KeyError, ValueError, AttributeError):
        raise MessageError("the request's columns are not readable") from None
    if not found or not all(isinstance(c.name, str) for c in found):
        raise MessageError("the request names no columns")
    return found


def _preparation(given: Any) -> Preparation:
    try:
        found = Preparation.from_config(given)
    except (TypeError, KeyError, ValueError, AttributeError):
        raise MessageError("the request's preparation is not readable") from None
    wrong = any(len(a) != len(found.names) for a in (found.offset, found.scale))
    if wrong or not np.isfinite([found.offset, found.scale]).all() or not (found.scale > 0).all():
        raise MessageError("the request's preparation has no usable scale")
    if found.fill is not None and len(found.fill) != len(found.names):
        raise MessageError("the request's preparation does not fill all columns")
    return found


class Sites:
    """Answers: the component that a job names at every client."""

    def open(self, folder: Path, name: str) -> Site:
        """The site of that name, whose client.toml is in its folder."""
        return Site(folder, name)
