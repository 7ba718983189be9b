"""Seals: by which clients know that a relayed reply is another client's, and to which request.

Before clients share keys, and where there are no masks, a reply is signed with the client's
identity (Ed25519). Under masks it has one tag for each client of the cohort, under the key that the
pair shares (HMAC-SHA256): a tag is a hundred times cheaper to check, and as hard to forge.
"""

import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from ..core import Refusal
from ..core.errors import Code
from ..privacy import ClientPolicy
from ..privacy.crypto import KEY_BYTES, SIGNATURE_BYTES, digest, is_signed, key_for
from ..privacy.masking import PairwiseMasks
from ..typing import Array
from .entries import Entry

TAG_BYTES = 16
SIGNED_BYTES = KEY_BYTES + SIGNATURE_BYTES  # the identity, and its signature


def sealed_texts(question: bytes, entry: Entry) -> list[bytes]:
    """What the seals of an entry stand for: to which question, what, and who replied.

    Question and reply are hashes of one length, so that no two triples give the same text.
    """
    start = digest(question, repr(entry.layout).encode())
    contents: Iterable[Any] = (
        np.ascontiguousarray(entry.words) if entry.is_round else map(_as_bytes, entry.values)
    )
    return [
        start + sha256(content).digest() + client.encode()
        for client, content in zip(entry.clients, contents, strict=True)
    ]


def _as_bytes(values: Any) -> bytes:
    return json.dumps(values, sort_keys=True).encode()


class Sealer:
    """Makes and checks the seals of one client in one run."""

    def __init__(self, policy: ClientPolicy, me: str, run: str) -> None:
        self._policy, self._me, self._run = policy, me, run
        self._keys: dict[bytes, bytes] = {}
        self._cohort: tuple[PairwiseMasks, Sequence[str], Mapping[str, bytes]] | None = None
        self._identities: dict[str, bytes] = dict(policy.peers or {})

    def seal(
        self,
        reply: Entry,
        asked: bytes,
        cohort: Sequence[str],
        masks: PairwiseMasks | None,
    ) -> Array:
        """The seal of this client's own reply, which is the only one of the entry."""
        (text,) = sealed_texts(self._question(reply.step, asked), reply)
        if masks is None:
            identity, signed = self._policy.keys.sign(text)
            return np.frombuffer(identity + signed, np.uint8)
        keys = self._shared_keys(cohort, masks)
        return np.frombuffer(b"".join(_tag(keys[c], text) for c in cohort), np.uint8)

    def check(
        self, entry: Entry, asked: bytes, cohort: Sequence[str], masks: PairwiseMasks | None
    ) -> None:
        """Refuse an entry in which any reply has no valid seal, this client's own included."""
        width = SIGNED_BYTES if masks is None else TAG_BYTES * len(cohort)
        if entry.seals.shape != (len(entry.clients), width):
            raise _refuse(entry.step, "the seals do not fit the cohort")
        keys = {} if masks is None else self._shared_keys(cohort, masks)
        mine = 0 if masks is None else list(cohort).index(self._me)
        texts = sealed_texts(self._question(entry.step, asked), entry)
        part = slice(mine * TAG_BYTES, (mine + 1) * TAG_BYTES) if masks else slice(None)
        seals = np.ascontiguousarray(entry.seals[:, part])
        if masks is None:
            for client, text, seal in zip(entry.clients, texts, seals, strict=True):
                self._check_signature(entry.step, client, text, seal.tobytes())
            return
        tags = [_tag(keys[client], text) for client, text in zip(entry.clients, texts, strict=True)]
        if not hmac.compare_digest(b"".join(tags), seals.tobytes()):
            rows = map(bytes, seals)
            client = next(c for c, t, s in zip(entry.clients, tags, rows, strict=True) if t != s)
            raise _refuse(entry.step, f"the reply of {client!r} is not sealed by it")

    def _question(self, step: int, asked: bytes) -> bytes:
        """Which request, in which step of which run."""
        return digest(b"fedclust step", self._run.encode(), str(step).encode(), asked)

    def _check_signature(self, step: int, client: str, text: bytes, seal: bytes) -> None:
        identity, signed = seal[:KEY_BYTES], seal[KEY_BYTES:]
        if client == self._me:
            self._identities[client] = self._policy.keys.identity
        elif self._policy.peers is not None and client not in self._identities:
            raise _refuse(
                step,
                f"{client!r} is not among the peers that this client knows from enrolment: its "
                "peers.json has to be brought up to date",
            )
        known = self._identities.setdefault(client, identity)  # without enrolment: as first seen
        if known != identity or not is_signed(identity, text, signed):
            raise _refuse(step, f"the reply of {client!r} is not signed by its identity")

    def _shared_keys(self, cohort: Sequence[str], masks: PairwiseMasks) -> Mapping[str, bytes]:
        """A key for seals with every client of the cohort; the own one only this client has."""
        known = self._cohort  # the same in most rounds
        if known is not None and known[0] is masks and known[1] == cohort:
            return known[2]
        public = {client: bytes.fromhex(key) for client, key, *_ in masks.roster}
        found = {}
        for client in cohort:
            if client == self._me:
                found[client] = self._policy.keys.own_key(masks.run, b"own seal")
                continue
            key = public[client]
            if key not in self._keys:
                secret = self._policy.keys.shared_with(masks.run, client, key)
                self._keys[key] = key_for(secret, b"seal")
            found[client] = self._keys[key]
        self._cohort = masks, cohort, found
        return found


def _tag(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")[:TAG_BYTES]


def _refuse(step: int, why: str) -> Refusal:
    return Refusal(f"step {step}: {why}; this client ends the study", code=Code.STUDY)
