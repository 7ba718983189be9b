"""The endpoint of a client that follows studies."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..client.codec import decode
from ..client.endpoint import ClientEndpoint
from ..client.requests import Caller
from ..core import Code, Refusal
from ..core.codec import encode_reply, get_integer, get_text
from ..core.files import write_text
from ..core.wire import Frame
from ..study.read import resolve_tier
from .approval import (
    DEFAULT_TIER,
    Following,
    following_of,
    open_study,
    read_offered_study,
    study_hash,
)
from .column_script import ColumnScript
from .decisions import Approvals
from .entries import decode_entry
from .followed_run import FollowedRun
from .memory import RunMemory
from .rules import allow_study

FOLLOW, CATCH_UP = "follow", "catch-up"
FOLDER, OPENING = "following", "opening.json"
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
        header = frame.header
        kind, before = get_text(header, "kind"), decode_entry(frame)
        step = header.pop("step", None)
        if kind == FOLLOW:
            position = self._open(header, caller, entry)
            return encode_reply(None, answers=id, client=self._name, values={"next": position})
        if kind != CATCH_UP and step is None:
            script = self._script(caller)
            if script is None:
                self._allow_unfollowed()
            else:
                self._note_study(entry)
                script.admit(decode(frame))
            entry |= {"verified": script is not None}
            return super()._respond(frame, id, caller, entry)
        run = self._followed(caller)
        self._note_study(entry)
        if before is not None:
            run.take(before)
        if kind == CATCH_UP:
            return encode_reply(None, answers=id, client=self._name, values={"next": run.position})
        request = decode(frame)
        number = get_integer({"step": step}, "step")
        entry |= {"step": number, "verified": True}
        return run.answer(number, request, id, lambda: self._reply(request, caller, entry))

    def _allow_unfollowed(self) -> None:
        if self._session.admission.follows:
            raise Refusal(
                "this client follows studies and answers no request outside of one, because its "
                "client.toml requires a tier in which only sums leave",
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

    @property
    def _approvals(self) -> Approvals:
        return Approvals(self._config.path.parent)

    def _note_study(self, entry: dict[str, Any]) -> None:
        """Log the hash of the study; refuse one that its owner has refused since it began."""
        if self._current is not None:
            entry |= {"study_hash": self._current.hash}
            self._approvals.refuse_refused(self._current.hash)

    def _open(self, header: Mapping[str, Any], caller: Caller, entry: dict[str, Any]) -> int:
        """Begin to follow a study, or continue; the position of this client in it."""
        _check_version(get_text(header, "version"))
        members = header.get("members")
        if not isinstance(members, list) or not all(isinstance(m, str) for m in members):
            raise Refusal("the study names no clients", code=Code.REQUEST)
        self._session.admission.allow_caller(caller)
        folder, text = self._folder_of(caller.run), get_text(header, "text")
        before = RunMemory(folder) if folder.exists() else None
        if before is not None and before.ended:
            raise Refusal(before.ended, code=Code.STUDY)
        study = read_offered_study(caller.study, text)
        hash = study_hash(study)
        entry |= {"study_hash": hash}
        if hash != get_text(header, "hash"):
            raise Refusal("the hash of the study is not that of its settings", code=Code.STUDY)
        self._allow_members(members)
        begun = before is not None and before.last is not None
        allow_study(self._config, self._session.policy, study, begun=begun)
        if self._asks_owner:
            self._approvals.require(study, text, author=caller.author, members=members)
        self._approvals.refuse_refused(hash)
        open_study(folder, caller.study, text)
        opening = {"study": caller.study, "hash": hash, "members": sorted(members)}
        self._fix(folder, opening, before or RunMemory(folder))
        return 0 if self._script(caller) is not None else self._followed(caller).position

    def _allow_members(self, members: list[str]) -> None:
        """Refuse a study without this client, or with clients that it does not know."""
        if self._name not in members:
            raise Refusal("the study does not name this client", code=Code.STUDY)
        peers = self._session.policy.peers
        unknown = sorted(set(members) - set(peers) - {self._name}) if peers is not None else []
        if unknown:
            raise Refusal(
                f"{', '.join(unknown)}: not among the peers that this client knows from "
                "enrolment; its peers.json has to be brought up to date",
                code=Code.CONSENT,
            )

    def _fix(self, folder: Path, opening: dict[str, Any], memory: RunMemory) -> None:
        """Note what this run is about; it cannot change once a step is answered."""
        file = folder / OPENING
        if file.exists() and json.loads(file.read_text(encoding="utf-8")) != opening:
            if memory.last is not None or memory.entries:
                raise Refusal("the study or its clients changed during the run", code=Code.STUDY)
            self._forget()
        if not file.exists() or json.loads(file.read_text(encoding="utf-8")) != opening:
            write_text(file, json.dumps(opening))

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
        if self._current is not None and self._current.id == caller.run:
            return self._current
        if not _is_run_id(caller.run):
            return None
        folder = self._folder_of(caller.run)
        file = folder / OPENING
        if not file.exists():
            return None
        self._forget()
        opening = json.loads(file.read_text(encoding="utf-8"))
        if opening["study"] != caller.study:
            raise Refusal("the run belongs to another study", code=Code.STUDY)
        path = folder / f"{caller.study}.toml"
        study = open_study(folder, caller.study, path.read_text(encoding="utf-8"))
        if study_hash(study) != opening["hash"]:
            raise Refusal(
                f"the run began under another version of fedclust; this client runs {__version__} "
                "now",
                code=Code.STUDY,
            )
        memory = RunMemory(folder)
        if memory.ended:
            raise Refusal(memory.ended, code=Code.STUDY)
        tier, policy = resolve_tier(study, DEFAULT_TIER), self._session.policy
        name = name_run(caller.run, opening["hash"])
        run: FollowedRun | ColumnScript
        if following_of(study, tier) is Following.SCRIPT:
            run = ColumnScript(memory, study, tier)
        else:
            run = FollowedRun(memory, study, self._name, name, opening["members"], policy)
        self._current = _Opened(caller.run, opening["hash"], run)
        return self._current

    def _folder_of(self, run: str) -> Path:
        if not _is_run_id(run):
            raise Refusal("the id of the run is not usable", code=Code.REQUEST)
        return self._config.path.parent / FOLDER / run


class _Opened(NamedTuple):
    """The run that this process takes part in."""

    id: str
    hash: str  # of the study
    run: FollowedRun | ColumnScript


def _check_version(version: str) -> None:
    """Refuse a server of another version, whose steps could differ."""
    if version != __version__:
        raise Refusal(
            f"the server runs fedclust {version}, this client {__version__}; a study is followed "
            "by the same version everywhere",
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
