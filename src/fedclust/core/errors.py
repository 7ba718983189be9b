"""Exception hierarchy, grouped by who has to act.

::

    FedclustError
    ├── ConfigError       (ValueError)    an invalid parameter: name, value, allowed values
    ├── DataError         (ValueError)    a client's data: client, column, remedy
    ├── MessageError      (ValueError)    a request or reply that does not fit the plan
    ├── TooFewClients     (RuntimeError)  a round that not enough clients answered
    │   └── EmptyRound                    every client replied, but all replies were empty
    ├── Refusal           (RuntimeError)  a client rejects a request and gives a reason
    ├── CheckpointError   (RuntimeError)  a saved round that cannot be continued
    └── WriteError        (OSError)       a file or folder that cannot be written

An error has a ``code``, by which programs decide, and a ``public`` part: the text that may leave a
client. By default nothing may. Only refusals and complaints about a request itself are public.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import NamedTuple


class Code(StrEnum):
    """Why a client did not answer, or its answer was not used."""

    CONSENT = "consent"  # its client.toml does not allow the request
    LIMIT = "limit"  # its query limit or privacy budget is used up
    POLICY = "policy"  # its policy rejects the query
    COHORT = "cohort"  # a total over these clients would reveal too much beside earlier ones
    STATE = "state"  # its process did not receive an earlier request that this one needs
    STUDY = "study"  # the request is not the next one of the study that it follows
    BEHIND = "behind"  # it has not seen the replies of earlier steps yet
    APPROVAL = "approval"  # its owner has not approved the study yet
    REQUEST = "request"  # the request is malformed, or of another version
    FILES = "files"  # its client.toml or its data files cannot be read
    DATA = "data"  # its data do not fit the request
    CHANGED = "changed"  # its data are not those of earlier rounds
    DISK = "disk"  # its disk is full
    INTERNAL = "internal"  # an unexpected error
    SILENT = "silent"  # no answer arrived in time
    REPLY = "reply"  # the reply is malformed, stale or implausible

    @property
    def final(self) -> bool:
        """Whether the request would be refused again, unless somebody acts."""
        return self not in _PASSING


# Another process, connection or copy of the message may cure these.
_PASSING = frozenset(
    (Code.STATE, Code.BEHIND, Code.REQUEST, Code.INTERNAL, Code.SILENT, Code.REPLY)
)


class Reason(NamedTuple):
    """Why there is no usable answer from a client."""

    code: Code
    text: str


class FedclustError(Exception):
    """Base class of all errors that fedclust raises on purpose."""

    code: Code = Code.INTERNAL

    @property
    def public(self) -> str:
        """The text that may leave a client; empty if none may."""
        return ""


class ConfigError(FedclustError, ValueError):
    """An invalid parameter."""


class DataError(FedclustError, ValueError):
    """Data that cannot be clustered."""

    code = Code.DATA


class MessageError(FedclustError, ValueError):
    """A message of the wrong type or shape, or with invalid values."""

    code = Code.REQUEST

    @property
    def public(self) -> str:
        return str(self)


class Rejected(MessageError):
    """A client's reply says that it refuses."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(f"refused: {text}")
        self.code = code


class TooFewClients(FedclustError, RuntimeError):
    """Not enough clients answered; `missing` of them more are needed, or all if it is None.

    Without an `indispensable` client the others cannot go on, however many they are.
    """

    def __init__(
        self,
        text: str,
        reasons: Mapping[str, Reason] | None = None,
        *,
        missing: int | None = None,
        indispensable: Iterable[str] = (),
    ) -> None:
        self.reasons, self.indispensable = dict(reasons or {}), frozenset(indispensable)
        self._missing = len(self.reasons) if missing is None else missing
        super().__init__(text + describe_reasons(self.reasons))

    @property
    def final(self) -> bool:
        """Whether another attempt cannot help: too many clients will refuse again."""
        codes = [reason.code for reason in self.reasons.values()]
        refused = sum(code.final for code in codes)
        return refused > 0 and len(codes) - refused < self._missing


class EmptyRound(TooFewClients):
    """Every client replied, but all replies were empty."""


class Refusal(FedclustError, RuntimeError):
    """A client rejects a request. The text is public; ``private`` stays in the client's log."""

    def __init__(self, text: str, *, code: Code = Code.POLICY, private: str = "") -> None:
        super().__init__(text)
        self.code, self.private = code, private

    @property
    def public(self) -> str:
        return str(self)


class CheckpointError(FedclustError, RuntimeError):
    """A saved round that does not belong to this plan, or is damaged."""


class WriteError(FedclustError, OSError):
    """A file or folder that cannot be written: no permission, or no space."""

    def __init__(self, number: int | None, text: str) -> None:
        super().__init__(number, text)
        self._text = text

    def __str__(self) -> str:
        return self._text


def describe_reasons(reasons: Mapping[str, Reason]) -> str:
    """Reasons for missing replies, as a suffix for an error message; clients may share one."""
    clients: dict[str, list[str]] = {}
    for client, reason in sorted(reasons.items()):
        clients.setdefault(reason.text, []).append(client)
    return "".join(f"; {', '.join(names)}: {text}" for text, names in clients.items())


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The closest known name, as a suffix for an error message; empty if none is close."""
    names = {_plain(name): name for name in known}
    close = get_close_matches(_plain(word), names, n=1)
    return f"; did you mean {names[close[0]]!r}?" if close else ""


def _plain(name: object) -> str:
    """A name without differences that a typist overlooks."""
    return str(name).strip().casefold().replace("_", "-").replace(" ", "-")
