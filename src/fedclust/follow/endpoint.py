"""The endpoint of a client that follows studies."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..client.codec import decode
from ..client.endpoint import ClientEndpoint
from ..client.requests import Caller
from ..core import Code, MessageError, Refusal
from ..core.codec import encode_reply, get_integer, get_text, one_line
from ..core.wire import Frame
from ..study.pool import FIRST_REQUESTS
from ..study.settings import Study
from .approval import Following, following_of
from .column_script import ColumnScript
from .decisions import Approvals
from .entries import decode_entry
from .followed_run import FollowedRun
from .memory import RunMemory, hold_run, is_ended
from .openings import Opening, read_opening
from .rules import allow_study, find_tier

FOLLOW, CATCH_UP = "follow", "catch-up"
FOLDER = "following"
_LONGEST_RUN = 64  # characters of a run's id


def name_run(run: str, hash: str) -> str:
    """The name of a run in seals and masks; it binds them to the study."""
    return f"{run} {hash}"


class FollowingEndpoint(ClientEndpoint):
    """Answers the next request of a study that this client follows, and no other.

    Requests outside of a study are answered only if client.toml requires no tier in which only
    sums leave. They are marked as unverified in the log of disclosures.
    """

    _current: "_Opened | None" = None

    def _respond(self, frame: Frame, id: str, caller: Caller, entry: dict[str, Any]) -> bytes:
        kind = get_text(frame.header, "kind")
        if kind != FOLLOW and kind != CATCH_UP and "step" not in frame.header:
            return self._respond_outside(frame, id, caller, entry)
        with hold_run(self._folder_of(caller.run)):
            if kind == FOLLOW:
                position = self._open(frame.header, caller, entry)
                return encode_reply(None, answers=id, client=self._name, values={"next": position})
            return self._take_step(frame, id, caller, entry)

    def _respond_outside(
        self, frame: Frame, id: str, caller: Caller, entry: dict[str, Any]
    ) -> bytes:
        """Answer a request that is no step: one of a script, or of no study at all."""
        if frame.header["kind"] in FIRST_REQUESTS:
            _check_version(frame.header.get("version"))
        script = self._script(caller)
        if script is None:
            self._allow_unfollowed()
        else:
            self._note_study(entry)
            script.admit(decode(frame))
        entry |= {"verified": script is not None}
        return super()._respond(frame, id, caller, entry)

    def _take_step(self, frame: Frame, id: str, caller: Caller, entry: dict[str, Any]) -> bytes:
        """Take in the replies of the step before, and answer the request of the next one."""
        header, before = frame.header, decode_entry(frame)
        kind, step = header["kind"], header.pop("step", None)
        run = self._followed(caller)
        self._note_study(entry)
        if before is not None:
            run.take(before)
        if kind == CATCH_UP:
            run.flush()
            return encode_reply(None, answers=id, client=self._name, values={"next": run.position})
        number = get_integer({"step": step}, "step")
        entry |= {"step": number, "verified": True}
        try:
            request = run.recognise(number, frame)
        except MessageError as problem:
            asked = f"{header.get('algorithm', kind)}, round {header.get('round', 0)}"
            raise run.reject(number, one_line(asked), str(problem)) from None
        return run.answer(number, request, id, lambda: self._reply(request, caller, entry))

    def _allow_unfollowed(self) -> None:
        if self._session.admission.follows:
            raise Refusal(
                "this client answers only studies that clients can follow, because its client.toml "
                f'has privacy = "{self._config.consent.privacy}"; set [privacy] tier in the study '
                "to this tier or a stricter one. The client answers other tiers once its owner "
                "sets this one line of client.toml to the tier of the study",
                code=Code.CONSENT,
            )
        if self._asks_owner:
            raise Refusal(
                "its owner approves every study, and this study cannot be approved, because "
                "clients cannot follow it; the study needs another [privacy] tier",
                code=Code.CONSENT,
            )

    @property
    def _asks_owner(self) -> bool:
        return self._config.consent.approval == "ask"

    @cached_property
    def _approvals(self) -> Approvals:
        return Approvals(self._config.path.parent)

    def _note_study(self, entry: dict[str, Any]) -> None:
        """Log the hash of the study; refuse one that its owner has refused since it began."""
        if self._current is not None:
            entry |= {"study_hash": self._current.hash}
            self._approvals.refuse_refused(self._current.hash)

    def _open(self, header: Mapping[str, Any], caller: Caller, entry: dict[str, Any]) -> int:
        """Begin to follow a study, or continue; the position of this client in it."""
        _check_version(header.get("version"))
        self._session.admission.allow_caller(caller)
        members = header.get("members")
        if not isinstance(members, list) or not all(isinstance(m, str) for m in members):
            raise Refusal("the study names no clients", code=Code.REQUEST)
        hash, text = get_text(header, "hash"), get_text(header, "text")
        opening = Opening(caller.study, hash, tuple(sorted(set(members))), text)
        folder = self._folder_of(caller.run)
        if ended := is_ended(folder):
            raise Refusal(ended, code=Code.STUDY)
        study = opening.read()
        entry |= {"study_hash": hash}
        self._admit(study, opening, folder, caller)
        self._fix(folder, opening)
        return 0 if self._script(caller) is not None else self._followed(caller).position

    def _admit(self, study: Study, opening: Opening, folder: Path, caller: Caller) -> None:
        """Refuse a study that breaks a rule of client.toml, or that its owner does not want."""
        begun = folder.exists() and RunMemory(folder).last is not None
        allow_study(self._config, self._session.policy, study, begun=begun)
        self._allow_members(opening.members)
        approvals = self._approvals
        if self._asks_owner:
            approvals.require(study, opening.text, author=caller.author, members=opening.members)
        approvals.refuse_refused(opening.hash)

    def _allow_members(self, members: Sequence[str]) -> None:
        """Refuse clients that only the server knows, among which no sum would be hidden."""
        if self._name not in members:
            raise Refusal("the study does not name this client", code=Code.STUDY)
        peers = self._session.policy.peers
        if peers is None and self._session.admission.masks_required:
            raise Refusal(
                "client.toml requires masks, and without peers.json the server could pose as all "
                "other clients",
                code=Code.CONSENT,
            )
        unknown = sorted(set(members) - set(peers) - {self._name}) if peers is not None else []
        if unknown:
            raise Refusal(
                f"{', '.join(unknown)}: not among the peers that this client knows from "
                "enrolment; its peers.json has to be brought up to date",
                code=Code.CONSENT,
            )

    def _fix(self, folder: Path, opening: Opening) -> None:
        """Note what this run is about; it cannot change once a step is answered."""
        known = read_opening(folder)
        if known is not None and known.is_like(opening):
            return
        if known is not None:
            memory = RunMemory(folder)
            if memory.last is not None or memory.entries:
                why = "the study or its clients changed during the run"
                memory.end(f"this client has left the study: {why}")
                raise Refusal(f"{why}; this client leaves the study", code=Code.STUDY)
            self._forget()
        opening.write(folder)

    def _forget(self) -> None:
        if self._current is not None:
            self._current.run.close()
        self._current = None

    def _followed(self, caller: Caller) -> FollowedRun:
        """The run that a request belongs to; a new process continues where another ended."""
        run = self._opened(caller)
        if run is None or not isinstance(run.run, FollowedRun):
            raise Refusal("this client does not follow this run", code=Code.BEHIND)
        return run.run

    def _script(self, caller: Caller) -> ColumnScript | None:
        """The script of a run over split columns that was opened."""
        run = self._opened(caller)
        return run.run if run is not None and isinstance(run.run, ColumnScript) else None

    def _opened(self, caller: Caller) -> "_Opened | None":
        known = self._current
        if known is not None and known.id == (caller.run, caller.study) and known.is_current:
            return known
        if not _is_run_id(caller.run):
            return None
        folder = self._folder_of(caller.run)
        opening = read_opening(folder)
        if opening is None:
            return None
        self._forget()
        if opening.study != caller.study:
            raise Refusal("the run belongs to another study", code=Code.STUDY)
        if ended := is_ended(folder):
            raise Refusal(ended, code=Code.STUDY)
        study = opening.read()
        self._admit(study, opening, folder, caller)
        self._current = self._open_run(study, opening, RunMemory(folder), caller)
        return self._current

    def _open_run(
        self, study: Study, opening: Opening, memory: RunMemory, caller: Caller
    ) -> "_Opened":
        tier, policy = find_tier(study), self._session.policy
        name = name_run(caller.run, opening.hash)
        run: FollowedRun | ColumnScript
        if following_of(study, tier) is Following.SCRIPT:
            run = ColumnScript(memory, study, tier)
        else:
            run = FollowedRun(memory, study, self._name, name, opening.members, policy)
        return _Opened((caller.run, caller.study), opening.hash, run, memory)

    def _folder_of(self, run: str) -> Path:
        if not _is_run_id(run):
            raise Refusal("the id of the run is not usable", code=Code.REQUEST)
        return self._following / run

    @cached_property
    def _following(self) -> Path:
        return self._folder / FOLDER


class _Opened(NamedTuple):
    """The run that this process takes part in."""

    id: tuple[str, str]  # and the name of its study
    hash: str  # of the study
    run: FollowedRun | ColumnScript
    memory: RunMemory

    @property
    def is_current(self) -> bool:
        """Whether no other process of this client has taken part since."""
        return self.memory.is_current


def _check_version(version: object) -> None:
    """Refuse a server of another version: its steps could differ, and nobody would notice."""
    if version != __version__:
        other = version if isinstance(version, str) else "of a version that it does not name"
        raise Refusal(
            f"the server runs fedclust {other}, this client {__version__}; a study "
            "needs the same version everywhere",
            code=Code.STUDY,
        )


def _is_run_id(run: str) -> bool:
    return run.isascii() and run.isalnum() and len(run) <= _LONGEST_RUN


class FollowingEndpoints:
    """The component that a job names at every client, for the study that it was signed for."""

    def __init__(self, study: str) -> None:
        self._study = study

    def open(self, folder: Path, name: str) -> FollowingEndpoint:
        """The endpoint of that name, whose client.toml is in its folder."""
        return FollowingEndpoint(folder, name, self._study)
