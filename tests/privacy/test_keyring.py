"""What a client's keyring answers, and what it refuses."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from fedclust import ConfigError
from fedclust.core import Data, Message, Refusal, Request, respond
from fedclust.privacy import ClientPolicy, PairwiseMasks
from fedclust.privacy.crypto import fresh_secret, signing_public
from fedclust.privacy.keyring import Keyring, MaskedQuery

pytest.importorskip("cryptography")
from .masked import EXACT, SCHEMA, owners, plan


class Site:
    """One client that a server of our own making asks."""

    def __init__(self, n: int = 4, **policy: Any) -> None:
        self.policies = {f"c{i}": ClientPolicy(**(policy if i == 0 else {})) for i in range(n)}
        self.data = owners(n, self.policies)
        roster = []
        for name in sorted(self.policies):
            key, signed = self.policies[name].keys.offer("run")
            roster.append((name, key.hex(), self.policies[name].keys.identity.hex(), signed.hex()))
        self.roster = roster

    def asks(
        self,
        round: int = 0,
        shift: float = 0.0,
        cohort: str = "c0 c1 c2 c3",
        roster: Any = None,
        data: Data | None = None,
        run: str = "run",
    ) -> Message:
        masks = PairwiseMasks(run, tuple(roster or self.roster))
        chosen = plan()
        state = chosen.algorithm.start(SCHEMA, chosen.rng("server", -1))
        down = type(chosen.algorithm.broadcast(state))(state.centers + shift)
        request = Request(round, tuple(cohort.split()), down)
        asked = replace(chosen, transforms=(EXACT, masks))
        return respond(asked, request, "c0", data or self.data["c0"])


def changed(roster: Sequence[tuple[str, ...]], who: int, **parts: str) -> list[tuple[str, ...]]:
    names = ("client", "key", "identity", "signature")
    entry = dict(zip(names, roster[who], strict=True)) | parts
    return [tuple(entry.values()) if i == who else e for i, e in enumerate(roster)]


def test_a_question_is_answered_twice_in_the_same_bytes_only() -> None:
    site = Site()
    first, second = site.asks(), site.asks()
    assert first.arrays()["total"].tobytes() == second.arrays()["total"].tobytes()
    data = site.data["c0"]
    with pytest.raises(Refusal, match="round 0: the data changed since this was answered"):
        site.asks(data=Data(data.X[1:], data.weight, policy=data.policy))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"cohort": "c0 c1"}, "2 clients are too few to hide among"),
        ({"cohort": "c0 c1 c9"}, r"does not fit the roster of the run: \['c9'\]"),
        ({"cohort": "c1 c2 c3"}, "does not fit the roster"),
        ({"cohort": "c0 c0 c1 c2"}, "does not fit the roster"),
        ({"shift": 0.5}, "round 1 was answered before, in another cohort or at other centres"),
        ({"round": 0}, "round 0 is over; round 1 was answered"),
        ({"round": 300}, "this client answers 300 rounds"),
        ({"run": "other"}, "another key for 'c0' than it offered in this run"),
    ],
)
def test_crafted_questions_are_refused(question: dict[str, Any], said: str) -> None:
    site = Site()
    site.asks(round=1)
    with pytest.raises(Refusal, match=said):
        site.asks(**{"round": 1, **question})


def named(*numbers: int) -> str:
    return " ".join(f"c{i}" for i in numbers)


TEN, SEVEN = named(*range(10)), named(*range(7))


@pytest.mark.parametrize(
    ("cohort", "said"),
    [
        (named(*range(9)), "differs from an earlier cohort in 1 of its clients"),
        (named(*range(8)), "differs from an earlier cohort in 2 of its clients"),
        (named(*range(5)), "has 5 of the 10 clients of the other; at least 6 are needed"),
        (named(*range(13)), "has 7 of the 13 clients of the other; at least 8 are needed"),
        (named(0, 1, 2, 3, 4, 5, 7), "neither all of an earlier cohort nor only some of it"),
        (named(*range(6)), "differs from an earlier cohort in 1 of its clients"),
        (named(*range(11)), "differs from an earlier cohort in 1 of its clients"),
        (named(*range(12)), "differs from an earlier cohort in 2 of its clients"),
    ],
)
@pytest.mark.parametrize("shift", [0.0, 1e-12])
@pytest.mark.parametrize("round", [0, 1])
def test_cohorts_of_a_data_set_form_a_chain(
    cohort: str, said: str, round: int, shift: float
) -> None:
    """Whatever the round, and however little the centres have moved."""
    site = Site(13)
    site.asks(cohort=TEN)
    site.asks(cohort=SEVEN)
    with pytest.raises(Refusal, match=said):
        site.asks(round=round, shift=shift, cohort=cohort)
    site.asks(round=1, shift=0.2, cohort=TEN)  # both cohorts go on
    site.asks(round=2, shift=0.2, cohort=SEVEN)


def test_a_round_goes_on_in_a_smaller_cohort_and_never_back() -> None:
    site = Site(10)
    site.asks(cohort=TEN)
    site.asks(cohort=SEVEN)
    with pytest.raises(Refusal, match="round 0 was answered before, in another cohort"):
        site.asks(cohort=TEN)
    with pytest.raises(Refusal, match="round 0 was answered before, in another cohort"):
        site.asks(shift=0.1, cohort=SEVEN)


def test_a_refused_cohort_is_not_remembered() -> None:
    """A mistake of the server does not keep a client from the cohorts that come after it."""
    site = Site(10)
    with pytest.raises(Refusal, match="2 clients are too few to hide among"):
        site.asks(cohort="c0 c1")
    site.asks(cohort=TEN)
    with pytest.raises(Refusal, match="differs from an earlier cohort in 1 of its clients"):
        site.asks(round=1, cohort=named(*range(9)))
    site.asks(round=1, cohort=SEVEN)


def test_a_roster_that_lies_is_refused() -> None:
    site = Site()
    other = ClientPolicy()
    key, signed = other.keys.offer("run")
    forged = changed(site.roster, 1, key=key.hex(), signature=signed.hex())
    with pytest.raises(Refusal, match="the key of 'c1' is not signed by its identity"):
        site.asks(roster=forged)
    twin = changed(site.roster, 2, **dict(zip(("key",), site.roster[1][1:2], strict=True)))
    with pytest.raises(Refusal, match="two clients of the roster have the same key"):
        site.asks(roster=twin)


def test_identities_told_at_enrolment_cannot_be_replaced() -> None:
    secrets = {f"c{i}": fresh_secret() for i in range(4)}
    known = {name: signing_public(secret) for name, secret in secrets.items()}
    site = Site(identity=secrets["c0"], peers=known)
    with pytest.raises(Refusal, match="'c1' is not who it was at enrolment"):
        site.asks()  # the others came with identities of their own making
    stranger = Site(identity=secrets["c0"], peers={"c0": known["c0"]})
    with pytest.raises(Refusal, match="'c1' is not among the peers .* peers.json has to be"):
        stranger.asks()
    for name, secret in secrets.items():
        site.policies[name].keys._identity = secret
    honest = []
    for name, policy in site.policies.items():
        key, signed = policy.keys.offer("run")
        honest.append((name, key.hex(), policy.keys.identity.hex(), signed.hex()))
    site.asks(roster=honest)


def test_a_point_of_low_order_is_refused() -> None:
    site = Site()
    from fedclust.privacy.crypto import signature
    from fedclust.privacy.keyring import offered

    secret = fresh_secret()
    weak = changed(
        site.roster,
        3,
        key=bytes(32).hex(),
        identity=signing_public(secret).hex(),
        signature=signature(secret, offered("run", bytes(32))).hex(),
    )
    with pytest.raises(Refusal, match="invalid X25519 public key for client 'c3'"):
        site.asks(roster=weak)


def test_a_gate_forgets_old_runs() -> None:
    policy = ClientPolicy()
    key, _ = policy.keys.offer("first")
    assert policy.keys.has_offered("first", key)
    for i in range(64):
        policy.keys.offer(f"run {i}")
    assert not policy.keys.has_offered("first", key)


@pytest.mark.parametrize(
    "entry",
    [("c0",), ("c0", "00", "00", "00"), ("c0", "zz" * 32, "00" * 32, "00" * 64), (1, 2, 3, 4)],
)
def test_a_roster_of_something_else_is_refused(entry: Any) -> None:
    with pytest.raises(ConfigError, match="the roster is a name, two keys and a signature each"):
        PairwiseMasks("run", (entry,))


def test_a_new_process_that_adopts_the_secret_makes_the_same_masks() -> None:
    site = Site(10)
    secret = fresh_secret()
    first, second = Keyring(), Keyring()
    for keys in (first, second):
        keys.adopt("run", secret)
    assert first.offer("run") == second.offer("run")
    assert first.own_key("run", b"seal") == second.own_key("run", b"seal")
    other = bytes.fromhex(site.roster[1][1])
    assert first.shared_with("run", "c1", other) == second.shared_with("run", "c1", other)


def test_where_noise_is_added_no_cohort_loses_members() -> None:
    """By the keys as well: a client may have no ledger."""
    whole = MaskedQuery("run", b"plan", 0, tuple(TEN.split()), b"header")
    fewer = replace(whole, cohort=tuple(SEVEN.split()))
    for steady in (False, True):
        keys = Keyring()
        keys.admit(whole, b"payload", steady=steady)
        if not steady:
            keys.admit(fewer, b"payload")
            continue
        with pytest.raises(Refusal, match="answered before, in another cohort"):
            keys.admit(fewer, b"payload", steady=True)


def test_the_keys_refuse_a_cohort_that_is_too_small_by_themselves() -> None:
    with pytest.raises(Refusal, match="round 0: 2 clients are too few to hide among"):
        Keyring().admit(MaskedQuery("run", b"plan", 0, ("a", "b"), b"header"), b"payload")
    keys = Keyring(min_cohort=5)
    with pytest.raises(Refusal, match="at least 5 are needed"):
        keys.admit(MaskedQuery("run", b"plan", 0, tuple("abcd"), b"header"), b"payload")
