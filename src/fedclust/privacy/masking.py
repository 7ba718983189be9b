"""Pairwise masks: every client's message is uniform noise, and their sum is the true sum.

For each pair of clients one adds a mask and the other subtracts the same, modulo 2^64. A mask is a
ChaCha20 keystream under a key that HKDF makes of the pair's secret and of everything the two must
agree on: run, roster, plan, round, cohort and broadcast. A server that sends two clients different
things gets masks that do not cancel. Bonawitz et al. (2017), without secret sharing: when a client
fails the round is asked again, which reveals nothing new (docs/privacy.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from ..core import (
    AnyAlgorithm,
    ConfigError,
    Message,
    Refusal,
    RoundContext,
    Stage,
    Summed,
    Transform,
)
from ..typing import Array
from .crypto import KEY_BYTES, SIGNATURE_BYTES, digest, is_signed, key_for, mask_words
from .keyring import MaskedQuery, offered
from .policy import ClientPolicy, QueryLimit, policy_of
from .queries import broadcast_digest, plan_digest

M = TypeVar("M", bound=Message)
_SAME_ROWS = "totals must be over all rows of all clients"

Roster = tuple[tuple[str, str, str, str], ...]  # client, key, identity, signature; hexadecimal


@dataclass(frozen=True)
class PairwiseMasks(Transform):
    """Hide every message among those of the cohort."""

    run: str = field(repr=False)  # a run that is continued later has other keys, and is the same
    roster: Roster = field(repr=False)

    stage: ClassVar[Stage] = Stage.MASK
    needs_all: ClassVar[bool] = True

    def __post_init__(self) -> None:
        roster = tuple(tuple(entry) for entry in self.roster)
        if not all(_is_entry(entry) for entry in roster):
            raise ConfigError("PairwiseMasks: the roster is a name, two keys and a signature each")
        object.__setattr__(self, "roster", roster)

    def check(self, algorithm: AnyAlgorithm) -> None:
        if not issubclass(algorithm.up, Summed):
            raise ConfigError(
                f"PairwiseMasks: messages of {algorithm.key} stack, and masks cancel in sums only"
            )
        withheld = algorithm.parameter("min_count")
        if withheld is not None and withheld > 1:
            raise ConfigError(
                f"PairwiseMasks: {algorithm.key} with min_count={withheld} leaves out clients, and "
                f"a total with few of them shows their own sums; {_SAME_ROWS}: set min_count=1"
            )

    def check_others(self, transforms: Sequence[Transform]) -> None:
        """Refuse what leaves out rows by a rule of the plan: a server could single out a client.

        Clients below a minimum would send zeros, and the total would be that of the others.
        """
        for other in transforms:
            if other.stage == Stage.SUPPRESS and not isinstance(other, QueryLimit):
                raise ConfigError(
                    f"PairwiseMasks: {type(other).__name__} leaves out rows inside the masks, and "
                    f"a total with few clients shows their own sums; {_SAME_ROWS}"
                )

    def check_cohort(self, context: RoundContext) -> None:
        policy, cohort = policy_of(context.data), self._find_cohort(context)
        policy.keys.once(cohort.agreed, lambda: self._recognise(policy, context.party, cohort.keys))

    def at_client(self, message: M, context: RoundContext) -> M:
        policy, cohort = policy_of(context.data), self._find_cohort(context)
        arrays = {name: np.asarray(array) for name, array in message.arrays().items()}
        if any(a.dtype != np.int64 for a in arrays.values()):
            raise ConfigError("PairwiseMasks: masks need integers; put FixedPoint before them")
        self.check_cohort(context)
        plan = plan_digest(context.plan)
        shapes = (f"{name} {array.shape}".encode() for name, array in arrays.items())
        header = digest(plan, str(context.round).encode(), broadcast_digest(context), *shapes)
        query = MaskedQuery(self.run, plan, context.round, context.cohort, header)
        noisy = any(t.stage == Stage.NOISE for t in context.plan.transforms)
        policy.keys.admit(query, digest(*(a.tobytes() for a in arrays.values())), steady=noisy)
        bound, size = digest(cohort.agreed, header), sum(a.size for a in arrays.values())
        mask = _mask(policy, self.run, context.party, cohort.keys, bound, size)
        return _shifted(message, arrays, mask)

    def _find_cohort(self, context: RoundContext) -> "_Cohort":
        """The clients of a round; mostly those of the round before."""
        key = context.cohort, context.party
        if key not in self._cohorts:
            agreed = digest(self._listed, *(client.encode() for client in context.cohort))
            self._cohorts[key] = _Cohort(self._keys(context), agreed)
        return self._cohorts[key]

    @cached_property
    def _cohorts(self) -> dict[tuple[tuple[str, ...], str], "_Cohort"]:
        return {}

    def _keys(self, context: RoundContext) -> dict[str, bytes]:
        """The public keys of the cohort."""
        listed = {client: bytes.fromhex(key) for client, key, *_ in self.roster}
        missing = [client for client in context.cohort if client not in listed]
        if (
            missing
            or context.party not in context.cohort
            or len(set(context.cohort)) < len(context.cohort)
        ):
            raise Refusal(
                f"the cohort does not fit the roster of the run: {missing or 'odd names'}"
            )
        return {client: listed[client] for client in context.cohort}

    def _recognise(self, policy: ClientPolicy, me: str, keys: dict[str, bytes]) -> None:
        """Refuse a roster in which a client has another identity than at enrolment."""
        if not policy.keys.has_offered(self.run, keys[me]):
            raise Refusal(f"the roster has another key for {me!r} than it offered in this run")
        if len(set(keys.values())) < len(keys):
            raise Refusal("two clients of the roster have the same key")
        for client, key, identity, signed in self.roster:
            if client not in keys:
                continue
            who = bytes.fromhex(identity)
            if policy.peers is not None and client != me:
                _known(policy.peers, client, who)
            text = offered(self.run, bytes.fromhex(key))
            if not is_signed(who, text, bytes.fromhex(signed)):
                raise Refusal(f"the key of {client!r} is not signed by its identity")

    @cached_property
    def _listed(self) -> bytes:
        """Run and roster in a hash."""
        return digest(self.run.encode(), *(p.encode() for entry in self.roster for p in entry))


class _Cohort(NamedTuple):
    """The clients of a total: their public keys, and run, roster and names in a hash."""

    keys: dict[str, bytes]
    agreed: bytes


def _known(peers: Mapping[str, bytes], client: str, identity: bytes) -> None:
    """Refuse whomever only the server speaks of."""
    if client not in peers:
        raise Refusal(
            f"{client!r} is not among the peers that this client knows from enrolment: its "
            "peers.json has to be brought up to date"
        )
    if peers[client] != identity:
        raise Refusal(f"{client!r} is not who it was at enrolment: peers.json has another identity")


def _is_entry(entry: tuple[Any, ...]) -> bool:
    """A name, and three strings of as many hexadecimal digits as there must be."""
    if len(entry) != 4 or not all(isinstance(part, str) for part in entry):
        return False
    sizes = (KEY_BYTES, KEY_BYTES, SIGNATURE_BYTES)
    return all(
        len(part) == 2 * size and set(part) <= set("0123456789abcdef")
        for part, size in zip(entry[1:], sizes, strict=True)
    )


def _mask(
    policy: ClientPolicy, run: str, me: str, keys: dict[str, bytes], bound: bytes, size: int
) -> Array:
    """The sum of this client's masks with all others: plus towards later names, minus earlier."""
    total = np.zeros(size, np.int64)
    for peer, public in keys.items():
        if peer == me:
            continue
        words = mask_words(key_for(policy.keys.shared_with(run, peer, public), bound), size)
        total += words if me < peer else -words
    return total


def _shifted(message: M, arrays: dict[str, Array], mask: Array) -> M:
    parts = np.split(mask, np.cumsum([a.size for a in arrays.values()])[:-1])
    masked = {
        name: array + part.reshape(array.shape)
        for (name, array), part in zip(arrays.items(), parts, strict=True)
    }
    return type(message).from_arrays(masked)
