"""Client endpoint: decodes a request, and returns a reply or a refusal as bytes.

The session answers the request. Every answer is entered in the disclosure log before it is sent.
Errors become refusals: a code and a public text. Everything else about an error
stays in the client's own log.
"""

import logging
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..core import Code, ConfigError, FedclustError, Message, MessageError, Refusal
from ..core.codec import encode_refusal, get_text, one_line
from ..core.files import is_full
from ..core.wire import Frame, unpack
from .admission import ConsentAdmission
from .codec import decode, decode_caller, encode_answer
from .config import CLIENT_FILE, ClientConfig, read_client_config
from .consent import allow_split_columns
from .disclosures import describe_reply, write_disclosure
from .fingerprint import Fingerprints
from .requests import AnyReply, AnyRequest, Caller, Preflight, PreflightReport, RecordsOffer
from .session import ClientSession

_LONGEST_ID = 200  # characters of a request's id; the reply repeats it
RUN_ID_LENGTH = 8  # of a run's id in the names of its label files
_PUBLIC = {  # for errors that have no public text of their own
    Code.DATA: "its data do not fit the study; see the client's log",
    Code.INTERNAL: "an internal error occurred; see the client's log",
}
DISK_FULL = "its disk is full; free space there, then run the study again with --resume"
_log = logging.getLogger(__name__)


class ClientEndpoint:
    """One client of a federation, whose client.toml is in a folder."""

    def __init__(
        self,
        folder: Path,
        name: str,
        study: str | None = None,
        answered: int = 0,
    ) -> None:
        self._folder, self._name = folder, name
        self._study = study  # for which the job was signed; None: the engine does not sign jobs
        self._answered = answered

    @property
    def answered(self) -> int:
        """Rounds of this job that were answered, here and in earlier processes."""
        opened = "_session" in vars(self)
        return self._session.answered if opened else self._answered

    @cached_property
    def _config(self) -> ClientConfig:
        try:
            return read_client_config(self._folder / CLIENT_FILE)
        except ConfigError as error:
            raise _unusable(error) from None

    @cached_property
    def _session(self) -> ClientSession:
        config = self._config
        try:
            policy = config.policy()
        except ConfigError as error:
            raise _unusable(error) from None
        admission = ConsentAdmission(config, policy)
        admission.check_ledger()
        return ClientSession(
            self._name,
            lambda in_memory: config.open_files(self._name, in_memory=in_memory),
            policy,
            admission,
            self._labels_path,
            lambda: allow_split_columns(config),
            self._answered,
            config.bounds,
            config.compute.device,
        )

    @cached_property
    def _fingerprints(self) -> Fingerprints:
        return Fingerprints(self._config)

    def _check_data(self, caller: Caller) -> None:
        if caller.run:
            self._fingerprints.check(caller.run)

    def _labels_path(self, caller: Caller) -> Path:
        """A separate file for every run, so that no run replaces another's labels."""
        name = "".join(c if c.isalnum() or c in "-_" else "_" for c in caller.study) or "study"
        mark = "".join(c for c in caller.run if c.isalnum())[:RUN_ID_LENGTH]
        folder = self._config.place(self._config.output.labels)
        return folder / (f"{name}-{mark}.csv" if mark else f"{name}.csv")

    def answer(self, raw: bytes, author: str = "") -> bytes:
        """The reply to a request, or a refusal."""
        id = ""
        entry: dict[str, Any] = {"to": author, "client": self._name, "received": len(raw)}
        try:
            frame = unpack(raw)
            id = _id_of(frame)
            entry |= {"kind": get_text(frame.header, "kind")}
            caller = decode_caller(frame, author)
            entry |= {"study": caller.study, "run": caller.run}
            self._check_signed(caller)
            answer = self._respond(frame, id, caller, entry)
        except Exception as error:
            answer = self._refuse(error, id, entry)
        return self._log_answer(answer, entry, id)

    def _respond(self, frame: Frame, id: str, caller: Caller, entry: dict[str, Any]) -> bytes:
        """Answer the request in a frame; `entry` gets what the disclosure log shows of it."""
        reply = self._reply(decode(frame), caller, entry)
        return encode_answer(reply, answers=id, client=self._name)

    def _reply(self, request: AnyRequest, caller: Caller, entry: dict[str, Any]) -> AnyReply:
        """The session's reply, as it may leave; the data are the same in all replies of a run."""
        session = self._session
        self._check_data(caller)
        reply = session.handle(request, caller)
        self._check_data(caller)  # they may have changed while they were read
        _log_problems(reply)
        reply = _releasable(request, reply)
        entry |= describe_reply(request, reply)
        entry |= {"queries": self._session.policy.ledger.n_queries}
        return reply

    def _check_signed(self, caller: Caller) -> None:
        if self._study is not None and caller.study != self._study:
            raise Refusal(
                f"the job was signed for the study {self._study!r}, not {caller.study!r}",
                code=Code.CONSENT,
            )

    def _refuse(self, error: Exception, id: str, entry: dict[str, Any]) -> bytes:
        """A refusal with the public part of an error; the rest goes to the client's log."""
        if is_full(error):
            _log.error("refused (%s): %s", Code.DISK.value, error)
            code, public = Code.DISK, DISK_FULL
        elif isinstance(error, FedclustError):
            code, public = error.code, error.public or _PUBLIC.get(error.code, "")
            private = getattr(error, "private", "")
            _log.error("refused (%s): %s", code.value, f"{error}; {private}" if private else error)
        else:
            _log.exception("a request could not be answered")
            code, public = Code.INTERNAL, ""
        public = public or _PUBLIC[Code.INTERNAL]
        entry |= {"refused": public, "code": code.value}
        return encode_refusal(code, public, answers=id, client=self._name)

    def _log_answer(self, answer: bytes, entry: dict[str, Any], id: str) -> bytes:
        """Log the answer; an answer that cannot be logged is replaced by a refusal."""
        try:
            path = self._config.place(self._config.output.disclosures)
        except Exception:  # the reason is in the log already
            path = self._folder / "disclosures.jsonl"
        try:
            write_disclosure(path, answer, entry)
        except Exception as error:
            if is_full(error):
                _log.error("%s cannot be written: %s", path, error)
                return encode_refusal(Code.DISK, DISK_FULL, answers=id, client=self._name)
            _log.exception("the disclosure log cannot be written")
            why = "its disclosure log cannot be written"
            return encode_refusal(Code.FILES, why, answers=id, client=self._name)
        return answer


def _unusable(error: ConfigError) -> Refusal:
    why = f"its {CLIENT_FILE}, or a file that it names, cannot be used"
    return Refusal(why, code=Code.FILES, private=str(error))


def _id_of(frame: Frame) -> str:
    id = get_text(frame.header, "id")
    if len(id) > _LONGEST_ID:
        raise MessageError(f"the id of the request is longer than {_LONGEST_ID} characters")
    return id


def _log_problems(reply: AnyReply) -> None:
    """Write problems to the client's log in full; only their codes leave."""
    if isinstance(reply, PreflightReport | RecordsOffer):
        for problem in reply.problems:
            level = logging.ERROR if problem.blocking else logging.WARNING
            _log.log(level, "%s", one_line(str(problem)))


def _releasable(request: AnyRequest, reply: AnyReply) -> AnyReply:
    """The reply as it may leave: finite arrays, and no name of a column that was not given."""
    if isinstance(request, Preflight) and isinstance(reply, PreflightReport):
        given = {"", *(column.name for column in request.columns or ())}
        problems = (p if p.column in given else replace(p, column="") for p in reply.problems)
        return replace(reply, problems=tuple(problems))
    return _materialize(reply) if isinstance(reply, Message) else reply


def _materialize(reply: Message) -> Message:
    """A message whose arrays are computed, once, and finite."""
    message = type(reply).from_arrays(reply.arrays())
    if not message.is_finite():
        raise MessageError("the result has values that are not finite")
    return message
