"""A client across the network: bytes in, bytes out, and never an exception.

It opens the file that its own client.toml names, builds the plans of the fedclust it has installed,
and refuses what client.toml does not allow. What leaves is on record before it leaves.
"""

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..algorithms.registry import build_plan
from ..clustering.model import Model
from ..clustering.preparation import Column
from ..core import (
    Batches,
    ConfigError,
    Data,
    DataError,
    FedclustError,
    MessageError,
    Plan,
    Record,
    respond,
)
from ..core.envelope import (
    ROUND,
    decode_request,
    encode_refusal,
    encode_reply,
    table,
    text,
)
from ..core.wire import Frame, unpack
from ..privacy import ClientPolicy
from ..privacy.crypto import digest
from .config import CLIENT_FILE, ClientConfig, read_client_config
from .consent import (
    Refused,
    allow_bounds,
    allow_caller,
    allow_cohort,
    allow_columns,
    allow_descriptions,
    allow_form,
    allow_key,
    allow_plan,
    demanded,
)
from .disclosures import write_disclosure
from .files import ClientFiles, Problem
from .requests import ALIGN, FINISH, OFFER, Form, columns_of, form_of, is_owned, preparation_of

if TYPE_CHECKING:
    from .column_session import ColumnsSite

T = TypeVar("T")
LOOK, LABEL = "look", "label"
_KEPT_FORMS = 2  # the encoded columns, and the prepared rows
_MARK = 8  # characters of a run's mark that tell its labels from another's
_log = logging.getLogger(__name__)


class Site:
    """One client's side of every study."""

    def __init__(
        self,
        folder: Path,
        name: str,
        study: str | None = None,
        answered: int = 0,
        *,
        one_message: bool = False,
    ) -> None:
        self._folder, self._name = folder, name
        self._study = study  # that the job was signed for; None: the engine signs no jobs
        self._forms: dict[str, Data | Batches] = {}
        self._one_message = one_message  # the next one is another process's
        self.answered = answered  # rounds of this job, here and in processes before

    @cached_property
    def _file(self) -> ClientConfig:
        return _at_home(lambda: read_client_config(self._folder / CLIENT_FILE))

    @cached_property
    def _gate(self) -> ClientPolicy:
        return _at_home(lambda: self._file.policy(remembers=self._one_message))

    @cached_property
    def _files(self) -> ClientFiles:
        return _at_home(lambda: self._file.opened(self._name))

    def answer(self, raw: bytes, author: str = "") -> bytes:
        """The reply to a request, or the sentence that refuses it."""
        id, entry = "", {"to": author, "client": self._name}
        try:
            frame = unpack(raw)
            id = text(frame.header, "id")
            study = text(table(frame.header, "about"), "study")
            entry |= {"study": study, "kind": text(frame.header, "kind")}
            if self._study is not None and study != self._study:
                raise Refused(f"the job was signed for the study {self._study!r}, not {study!r}")
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
        handlers |= dict.fromkeys((OFFER, ALIGN, FINISH), self._to_owner)
        if kind not in handlers:
            raise MessageError(f"there is no request of kind {kind[:40]!r}")
        return handlers[kind]

    def _refusal(self, why: str, id: str, entry: dict[str, Any]) -> bytes:
        entry["refused"] = why
        return encode_refusal(why, answers=id, client=self._name)

    def _on_record(self, reply: bytes, entry: dict[str, Any], id: str) -> bytes:
        """What cannot be put on record does not leave."""
        try:
            path = self._file.place(self._file.output.disclosures)
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
        allow_cohort(request)
        rows: Data | Batches
        if is_owned(asked.data):
            rows = self._columns.rows(plan, request.down, asked.data, self.answered)
        else:
            rows = self._allowed_rows(plan, request.down, asked.data)
        message = respond(plan, request, self._name, rows)
        message = type(message).from_arrays(message.arrays())  # distances are computed once
        if not message.is_finite():
            raise MessageError("what it computed are not finite numbers")
        self.answered += 1
        entry |= {
            "plan": plan.algorithm.key,
            "round": request.round,
            "what": {name: list(array.shape) for name, array in message.arrays().items()},
            "says": "nothing" if message.is_empty() else "numbers",
            "transforms": [str(transform) for transform in plan.transforms],
        }
        return encode_reply(message, answers=id, client=self._name)

    def _look(self, frame: Frame, id: str, entry: dict[str, Any]) -> bytes:
        """What is wrong with columns, and how many rows there are; each look is a question."""
        header, allowed = frame.header, self._file.consent.columns
        wanted = header.get("columns")
        if "algorithm" in header:  # what is not allowed is refused before anything is told
            allow_key(self._file, text(header, "algorithm"))
        numbers = [name for name in self._files.numbers if not allowed or name in allowed]
        columns = [Column(name) for name in numbers] if wanted is None else columns_of(wanted)
        self._allow_columns(columns)
        asked = json.dumps([wanted, bool(header.get("counts"))])
        most = self._file.consent.max_queries
        self._gate.ledger.record_query(digest(b"look", asked.encode()), what="look", most=most)
        problems, counted = self._files.look(columns)
        open_sums = bool(header.get("counts")) and not demanded(self._file).sums_only
        said = [problem for problem in problems if problem.stops or open_sums]
        told: dict[str, Any] = {
            "numbers": numbers if wanted is None else [],
            "problems": [self._told(problem) for problem in said],
        }
        if open_sums:
            told |= counted._asdict()
        entry["what"] = {name: value for name, value in told.items() if name != "problems"}
        return encode_reply(None, answers=id, client=self._name, told=told)

    def _told(self, problem: Problem) -> list[Any]:
        """As others may hear it: values and counts stand behind a colon or in brackets."""
        _log.log(logging.ERROR if problem.stops else logging.WARNING, "%s %s", *problem[1:3])
        what = re.split(r":| \(", problem.what)[0] if problem.column else "its own log says what"
        return [problem.column, what, problem.stops]

    def _allow_columns(self, columns: Sequence[Column]) -> None:
        """Refuse columns that are not listed, and too many ways to ask whether values fit."""
        allow_columns(self._file, [column.name for column in columns])
        allow_descriptions(self._file, self._gate.ledger, columns)

    def _label(self, frame: Frame, id: str, entry: dict[str, Any]) -> bytes:
        """Write the labels of the client's own rows; they stay here."""
        header, centers = frame.header, frame.arrays.get("centers")
        ready = preparation_of(header.get("preparation"))
        self._allow_columns(ready.columns)
        ids, fuzzifier = header.get("ids"), header.get("fuzzifier")
        if centers is None or centers.ndim != 2 or centers.shape[1] != len(ready.names):
            raise MessageError("labels need centres of as many columns as there are")
        if not isinstance(ids, list) or len(ids) != len(centers) or not all(map(_is_whole, ids)):
            raise MessageError("labels need a number for each centre")
        if len(centers) > self._file.consent.max_clusters:
            raise Refused(f"{len(centers)} centres are more than client.toml allows")
        sizes = (0,) * len(ids)  # the others' are nobody's affair here
        model = Model(centers, tuple(ids), sizes, ready, text(header, "algorithm"), fuzzifier)
        target = self._labels_of(entry["study"], id)
        self._files.label(model, target)
        entry |= {"what": {}, "wrote": target.name}
        return encode_reply(None, answers=id, client=self._name, told={"labels": "written"})

    def _labels_of(self, study: str, id: str) -> Path:
        return self._file.place(self._file.output.labels) / _labels_name(study, id)

    @cached_property
    def _columns(self) -> "ColumnsSite":
        from .column_session import ColumnsSite  # few studies split columns

        return ColumnsSite(self._file, self._name, self._gate)

    def _to_owner(self, frame: Frame, id: str, entry: dict[str, Any]) -> bytes:
        """What owners of columns are asked besides rounds."""
        if entry["kind"] == FINISH:
            told = self._columns.finish(frame, entry, self._labels_of(entry["study"], id))
        else:
            ask = self._columns.offer if entry["kind"] == OFFER else self._columns.align
            told = ask(frame, entry)
        return encode_reply(None, answers=id, client=self._name, told=told)

    def _allowed_rows(self, plan: Plan, down: Record, wanted: Any) -> Data | Batches:
        """The rows of a request, once it is known to be one that client.toml allows."""
        form = form_of(wanted)
        self._allow_columns(form.columns)
        allow_plan(self._file, plan, form.schema.n_features, self.answered)
        allow_form(plan, form.preparation is not None)
        allow_bounds(plan, down, form.schema)
        down.check(plan.algorithm.sizes(form.schema))
        return self._rows(wanted, form)

    def _rows(self, wanted: Any, form: Form) -> Data | Batches:
        """The rows in a form, made once and kept for the rounds to come."""
        name = json.dumps(wanted, sort_keys=True)
        if name not in self._forms:
            while len(self._forms) >= _KEPT_FORMS:
                del self._forms[next(iter(self._forms))]
            self._forms[name] = self._made(form, name)
        return self._forms[name]

    def _made(self, form: Form, name: str) -> Data | Batches:
        problems, _ = self._files.look(form.columns)
        if stops := [problem for problem in problems if problem.stops]:
            raise DataError(f"{stops[0].column} {stops[0].what}")
        ready, files = form.preparation, self._files
        made = files.prepared(ready) if ready else files.encoded(form.columns)
        return replace(made, policy=self._gate, form=name.encode())


def _labels_name(study: str, id: str) -> str:
    """A file for every run, known by the mark of its requests: no run replaces another's labels."""
    name = "".join(c if c.isalnum() or c in "-_" else "_" for c in study) or "study"
    mark = "".join(c for c in id.partition("/")[0] if c.isalnum())[:_MARK]
    return f"{name}-{mark}.csv" if mark else f"{name}.csv"


def _at_home(read: Callable[[], T]) -> T:
    """What the client's own files say; what is wrong with them, and where they are, stays here."""
    try:
        return read()
    except (ConfigError, DataError) as problem:
        _log.error("%s", problem)
        raise Refused(f"its {CLIENT_FILE}, or a file that it names, is not usable") from None


def _is_whole(value: Any) -> bool:
    return type(value) is int


class Sites:
    """Answers: the component that a job names at every client, for the study it was signed for."""

    def __init__(self, study: str) -> None:
        self._study = study

    def open(self, folder: Path, name: str) -> Site:
        """The site of that name, whose client.toml is in its folder."""
        return Site(folder, name, self._study)
