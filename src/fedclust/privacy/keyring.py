"""A client's keys: its identity, its secrets of running runs, and what went out under masks.

They are in memory, and gone with the process. A client that follows a study keeps its secret of the
run in a file (`adopt`), so that its next process continues.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..core import ConfigError, Refusal
from .cohorts import find_conflict
from .crypto import (
    KEY_BYTES,
    digest,
    exchange_public,
    fresh_secret,
    key_for,
    shared_secret,
    signature,
    signing_public,
)

FEWEST = 3  # of two, either could subtract itself from the sum
_RUNS_KEPT = 64


@dataclass
class _Secrets:
    """A run's key, and what it gave with every peer's."""

    secret: bytes = field(default_factory=fresh_secret, repr=False)
    shared: dict[bytes, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class MaskedQuery:
    """A question under masks: of which run and plan, of whom, and everything else in a hash."""

    run: str
    plan: bytes
    round: int
    cohort: tuple[str, ...]
    header: bytes


Answers = dict[tuple[str, bytes], dict[int, tuple[MaskedQuery, bytes]]]  # by run and plan, by round


class Keyring:
    """Keys of one client, and the rule that each mask is used for one message."""

    def __init__(
        self,
        identity: bytes | None = None,
        *,
        min_cohort: int = FEWEST,
        max_rounds: int = 300,
    ) -> None:
        self._identity = identity
        self._min_cohort, self._max_rounds = max(FEWEST, min_cohort), max_rounds
        self._runs: dict[str, _Secrets] = {}
        self._done: set[bytes] = set()
        self._answers: Answers = {}

    @property
    def identity(self) -> bytes:
        """The public identity."""
        return signing_public(self._secret_identity())

    def _secret_identity(self) -> bytes:
        if self._identity is None:  # no other client knows it yet, so any will do
            self._identity = fresh_secret()
        return self._identity

    def offer(self, run: str) -> tuple[bytes, bytes]:
        """The public key of this client for a run, and its signature; the same when asked again."""
        public = exchange_public(self._of(run).secret)
        return public, signature(self._secret_identity(), offered(run, public))

    def sign(self, text: bytes) -> tuple[bytes, bytes]:
        """The public identity, and its signature of a text."""
        return self.identity, signature(self._secret_identity(), text)

    def adopt(self, run: str, secret: bytes) -> None:
        """Use the secret of a run that an earlier process of this client may have offered.

        A client that was never enrolled signs with it, too, in this run.
        """
        if run not in self._runs:
            self._runs[run] = _Secrets(secret)
        if self._identity is None:
            self._identity = key_for(secret, b"identity")

    def _of(self, run: str) -> _Secrets:
        if run not in self._runs:
            while len(self._runs) >= _RUNS_KEPT:
                gone = next(iter(self._runs))
                del self._runs[gone]
                self._answers = {k: v for k, v in self._answers.items() if k[0] != gone}
            self._runs[run] = _Secrets()
        return self._runs[run]

    def has_offered(self, run: str, public: bytes) -> bool:
        """Whether this is the key that was offered for the run."""
        return run in self._runs and exchange_public(self._runs[run].secret) == public

    def shared_with(self, run: str, peer: str, public: bytes) -> bytes:
        """The secret of this client and a peer, computed once per run."""
        own = self._of(run)
        if public not in own.shared:
            found = shared_secret(own.secret, public)
            if found is None:
                raise Refusal(f"invalid X25519 public key for client {peer!r}")
            own.shared[public] = found
        return own.shared[public]

    def own_key(self, run: str, purpose: bytes) -> bytes:
        """A key that only this client has in a run."""
        return key_for(self._of(run).secret, purpose)

    def once(self, what: bytes, check: Callable[[], None]) -> None:
        """Do a check that need not be done again if it went well."""
        if what not in self._done:
            check()
            self._done.add(what)

    def admit(self, query: MaskedQuery, payload: bytes, *, steady: bool = False) -> None:
        """Let an answer go, or refuse: masks hide one answer to one question, and no second.

        With `steady`, no cohort may lose members: the noise of those who left would be missing.
        """
        if len(query.cohort) < self._min_cohort:
            raise Refusal(
                f"round {query.round}: {len(query.cohort)} clients are too few to hide among; at "
                f"least {self._min_cohort} are needed"
            )
        if query.round >= self._max_rounds:
            raise Refusal(f"round {query.round}: this client answers {self._max_rounds} rounds")
        answered = self._answers.setdefault((query.run, query.plan), {})
        before = answered.get(query.round)
        if before is None:
            if answered and query.round < max(answered):
                raise Refusal(f"round {query.round} is over; round {max(answered)} was answered")
        else:
            self._same_again(query, payload, *before, steady=steady)
        answered[query.round] = query, payload

    def _same_again(
        self, query: MaskedQuery, payload: bytes, before: MaskedQuery, sent: bytes, *, steady: bool
    ) -> None:
        if query == before:
            if payload != sent:
                raise Refusal(f"round {query.round}: the data changed since this was answered")
            return
        smaller = set(query.cohort) < set(before.cohort)
        conflict = find_conflict(query.cohort, [before.cohort], self._min_cohort)
        if not smaller or steady or conflict:
            raise Refusal(
                f"round {query.round} was answered before, in another cohort or at other centres"
                + (f": {conflict}" if conflict else "")
            )


def offered(run: str, public: bytes) -> bytes:
    """What a client signs when it offers a key."""
    return digest(b"fedclust key", run.encode(), public)


def stored_identity(path: str | os.PathLike[str]) -> bytes:
    """The identity in a file that its owner alone can read; made on the first call."""
    file = Path(path)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as fresh:
            fresh.write(fresh_secret().hex() + "\n")
    try:
        secret = bytes.fromhex(file.read_text().strip())
    except ValueError:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise ConfigError(f"{file}: no identity; it must hold {2 * KEY_BYTES} hexadecimal digits")
    return secret
