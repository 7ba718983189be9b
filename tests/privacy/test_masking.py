"""Secure aggregation: an exact sum, of messages that are noise, to questions that are fair."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError, MessageError, TooFewClients
from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Message, Plan, Request, Run, respond, rounds, run
from fedclust.privacy import PairwiseMasks, SecureChannel
from fedclust.privacy.key_exchange import KeyExchange
from fedclust.typing import FloatArray

pytest.importorskip("cryptography")
from .masked import EXACT, SCHEMA, owners, plan, rows


class Recording(LocalChannel):
    """Keeps what every client sent, loses what it is asked to lose."""

    def __init__(self, data: dict[str, Data], lose: Any = None) -> None:
        super().__init__(data, strict=True)
        self.sent: list[tuple[Plan, Request, str, Message]] = []
        self.lose = lose or (lambda round, client, asked: False)
        self.asked = 0

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        self.asked += 1
        for client, message in super().ask(plan, request):
            if not self.lose(request.round, client, self.asked):
                self.sent.append((plan, request, client, message))
                yield client, message


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("llf-cm", {}),
        ("llf-fcm", {}),
        ("llf-fcm", {"fuzzifier": 1.4}),
        ("ewf", {"min_count": 1}),
        ("dwf", {"min_count": 1}),
    ],
)
def test_masked_is_unmasked_bit_for_bit(key: str, settings: dict[str, Any]) -> None:
    chosen = plan(key, **settings)
    plain = run(chosen, LocalChannel(owners()), SCHEMA)
    masked = run(chosen, SecureChannel(LocalChannel(owners(), strict=True)), SCHEMA)
    assert masked.model.tobytes() == plain.model.tobytes()
    assert masked.n_rounds == plain.n_rounds


@pytest.mark.parametrize("key", ["vertical-llf-cm", "vertical-llf-fcm"])
def test_distances_over_split_columns_are_masked_too(key: str) -> None:
    X = rows(60)
    schema = replace(SCHEMA, n_records=60)
    chosen = Plan(make(key, 3, init=np.array([0, 20, 40])), (EXACT,))
    parts = {f"o{f}": X[:, [f]] for f in range(3)}
    channel = Recording({name: Data.of(part) for name, part in parts.items()})
    secure = run(chosen, SecureChannel(channel), schema)
    plain = run(chosen, LocalChannel(parts), schema)
    floats = run(Plan(chosen.algorithm), LocalChannel(parts), schema)
    assert secure.state.d2.tobytes() == plain.state.d2.tobytes()
    np.testing.assert_allclose(secure.state.d2, floats.state.d2, rtol=1e-9, atol=1e-9)
    single = channel.sent[-1][3].arrays()["d2"]
    assert np.abs(single).max() > 2.0**60  # noise: no squared distance is as large


def test_a_single_message_is_noise_and_eight_bytes_a_value() -> None:
    channel = Recording(owners(20))
    run(plan(max_rounds=40, tol=0.0), SecureChannel(channel), SCHEMA)
    first = [m for p, r, c, m in channel.sent if c == "c0" and p.algorithm.key == "llf-cm"]
    raw = b"".join(a.tobytes() for m in first for a in m.arrays().values())
    counts = np.bincount(np.frombuffer(raw, np.uint8), minlength=256)
    expected = len(raw) / 256
    assert ((counts - expected) ** 2 / expected).sum() < 400  # 255 +- 22.6 where it is uniform
    assert first[0].nbytes == 8 * (3 + 9)


def test_equal_totals_look_alike_whoever_has_what() -> None:
    """Two federations with the same rows, dealt otherwise: the server's sums are the same bits."""
    X = rows()
    dealt: list[list[FloatArray]] = [[X[i::4] for i in range(4)], np.split(X, 4)]
    sums = []
    for parts in dealt:
        channel = Recording({f"c{i}": Data.of(part) for i, part in enumerate(parts)})
        run(plan(max_rounds=3, tol=0.0), SecureChannel(channel), SCHEMA)
        merged: dict[int, Any] = {}
        for p, request, _, message in channel.sent:
            if p.algorithm.key == "llf-cm":
                merged.setdefault(request.round, []).append(message)
        sums.append([type(m[0]).merge(m).arrays()["total"].tobytes() for m in merged.values()])
    assert sums[0] == sums[1]


def test_every_run_has_other_keys_and_the_same_result() -> None:
    channel = Recording(owners())
    models = [run(plan(), SecureChannel(channel), SCHEMA).model.tobytes() for _ in range(2)]
    assert models[0] == models[1]
    totals = [
        m.arrays()["total"].tobytes()
        for p, r, c, m in channel.sent
        if c == "c1" and r.round == 0 and p.algorithm.key == "llf-cm"
    ]
    assert len(set(totals)) == 2


def test_two_clients_cannot_hide_among_each_other() -> None:
    with pytest.raises(TooFewClients, match="2 clients are connected; secure aggregation needs 3"):
        SecureChannel(LocalChannel(owners(2)))


def test_a_changing_cohort_is_refused() -> None:
    from fedclust.core import ClientSampling

    with pytest.raises(ConfigError, match="asks every client in every round"):
        run(plan(), SecureChannel(LocalChannel(owners())), SCHEMA, sampling=ClientSampling(0.5))


def lost(*when: tuple[int, str, int]) -> Any:
    """Lose a client's answer to a round in its first few attempts."""
    left = {(round, client): times for round, client, times in when}

    def lose(round: int, client: str, asked: int) -> bool:
        if asked == 1 or left.get((round, client), 0) == 0:
            return False
        left[round, client] -= 1
        return True

    return lose


def test_a_lost_answer_is_asked_for_again_and_nothing_changes() -> None:
    whole = run(plan(), LocalChannel(owners()), SCHEMA)
    channel = Recording(owners(), lost((0, "c1", 3), (1, "c3", 1)))
    again = run(plan(), SecureChannel(channel), SCHEMA)
    assert again.model.tobytes() == whole.model.tobytes()
    answers: dict[tuple[int, str], set[bytes]] = {}
    for p, request, client, message in channel.sent:
        if p.algorithm.key == "llf-cm":
            raw = b"".join(a.tobytes() for a in message.arrays().values())
            answers.setdefault((request.round, client), set()).add(raw)
    assert all(len(bytes_sent) == 1 for bytes_sent in answers.values())  # the same masked bytes


class Replayed(LocalChannel):
    """Given cohorts, round by round, without masks."""

    def __init__(self, data: dict[str, Data], cohorts: list[tuple[str, ...]]) -> None:
        super().__init__(data)
        self._left = list(cohorts)

    def clients(self) -> tuple[str, ...]:
        return self._left.pop(0)


@pytest.mark.parametrize("n", [8, 10, 13, 20])
@pytest.mark.parametrize("when", [0, 2])
def test_a_silent_client_is_left_out_with_others(n: int, when: int) -> None:
    """Three leave together, and the result is that of the rows of those who took part."""
    chosen = plan(max_rounds=4, tol=0.0)
    channel = SecureChannel(Recording(owners(n), lost((when, "c1", 99))), attempts=2)
    done = list(rounds(chosen, channel, SCHEMA))
    sizes = [len(r.cohort) for r in done]
    assert sizes == [n] * when + [n - 3] * (4 - when)
    assert "c1" not in done[-1].cohort
    assert len({r.cohort for r in done[when:]}) == 1
    replayed = Replayed(owners(n), [r.cohort for r in done])
    expected = list(rounds(chosen, replayed, SCHEMA))
    assert expected[-1].state.centers.tobytes() == done[-1].state.centers.tobytes()
    if when == 0:
        left = {c: data for c, data in owners(n).items() if c in done[-1].cohort}
        pooled = LocalChannel({"pooled": np.vstack([data.X for data in left.values()])})
        assert run(chosen, pooled, SCHEMA).model.tobytes() == done[-1].state.centers.tobytes()


def test_clients_leave_as_long_as_the_cohorts_form_a_chain() -> None:
    """In every round but the first, the first client that is left falls silent."""
    silent: dict[int, str] = {}

    def lose(round: int, client: str, asked: int) -> bool:
        return round > 0 and silent.setdefault(round, min(channel.clients())) == client

    network = Recording(owners(20))
    channel = SecureChannel(network, attempts=2)
    network.lose = lose
    done = rounds(plan(max_rounds=9, tol=0.0), channel, SCHEMA)
    assert [len(next(done).cohort) for _ in range(4)] == [20, 17, 14, 11]
    with pytest.raises(TooFewClients, match="round 4: no usable answer from c"):
        next(done)


def test_more_silent_clients_than_must_leave_leave_alone() -> None:
    gone = lost(*((1, f"c{i}", 99) for i in range(4)))
    channel = SecureChannel(Recording(owners(12), gone), attempts=2)
    done = run(plan(max_rounds=2, tol=0.0), channel, SCHEMA)
    assert [line.n_clients for line in done.history] == [12, 8]
    assert sorted(channel.clients()) == sorted(f"c{i}" for i in range(4, 12))


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
def test_a_small_federation_waits_for_its_client(n: int) -> None:
    """No three can leave so that the others could go on."""
    channel = SecureChannel(Recording(owners(n), lost((1, "c0", 99))), attempts=2)
    with pytest.raises(TooFewClients, match="from c0, .*: the difference of two totals would be"):
        run(plan(tol=0.0), channel, SCHEMA)
    back = SecureChannel(Recording(owners(n), lost((1, "c0", 1))), attempts=2)
    whole = run(plan(tol=0.0), LocalChannel(owners(n)), SCHEMA)
    assert run(plan(tol=0.0), back, SCHEMA).model.tobytes() == whole.model.tobytes()


def test_where_noise_is_added_nobody_is_left_out() -> None:
    channel = Recording(owners(10), lost((1, "c0", 99)))
    with pytest.raises(
        TooFewClients, match="from c0, .*: their share of the noise would be missing"
    ):
        run(plan(tol=0.0), SecureChannel(channel, attempts=2, steady=True), SCHEMA)


def test_owners_of_columns_are_all_needed() -> None:
    chosen = Plan(make("vertical-llf-cm", 3, init=np.array([0, 20, 40])), (EXACT,))
    data = {
        f"o{i}": Data.of(rows(60)) for i in range(10)
    }  # of clients with rows, three could leave
    channel = Recording(data, lost((1, "o1", 99)))
    with pytest.raises(TooFewClients, match="answer from o1, .* needs the columns of all owners"):
        run(chosen, SecureChannel(channel, attempts=2), replace(SCHEMA, n_records=60))


def test_who_offers_no_key_is_not_in_the_run() -> None:
    late = Recording(owners(5), lambda round, client, asked: client == "c2" and asked <= 2)
    assert sorted(SecureChannel(late, attempts=2).clients()) == ["c0", "c1", "c3", "c4"]
    with pytest.raises(TooFewClients, match="2 of 3 clients offered a key, and 3 are needed"):
        SecureChannel(Recording(owners(3), lambda r, client, a: client == "c2"), attempts=2)


def test_data_that_changes_during_a_run_ends_it() -> None:
    class Changing(LocalChannel):
        def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
            if request.round == 2:
                data: Any = self._data["c1"]
                self._data["c1"] = Data(data.X[1:], data.weight, policy=data.policy)
            return super().ask(plan, request)

    with pytest.raises(MessageError, match="round 2: the sums over all clusters differ"):
        run(plan(tol=0.0), SecureChannel(Changing(owners())), SCHEMA)


@pytest.mark.parametrize("field", ["weight", "total"])
def test_a_damaged_payload_ends_the_run(field: str) -> None:
    class Damaging(LocalChannel):
        def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
            for client, message in super().ask(plan, request):
                if client == "c3" and request.round == 1:
                    arrays = {n: a.copy() for n, a in message.arrays().items()}
                    arrays[field].flat[0] ^= 1
                    message = type(message).from_arrays(arrays)
                yield client, message

    with pytest.raises(MessageError, match="round 1: the sums over all clusters differ"):
        run(plan(tol=0.0), SecureChannel(Damaging(owners())), SCHEMA)


def test_masks_need_whole_numbers_sums_and_a_gate() -> None:
    with pytest.raises(ConfigError, match="put FixedPoint before them"):
        run(Plan(plan().algorithm), SecureChannel(LocalChannel(owners())), SCHEMA)
    with pytest.raises(ConfigError, match="messages of fkm stack"):
        Plan(make("fkm", 3), (PairwiseMasks("run", ()),))
    request = Request(0, ("a",), KeyExchange("x").broadcast(None))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="this client has no gate"):
        respond(Plan(KeyExchange("x")), request, "a", Data.of(rows()))


def test_a_server_that_tells_clients_different_centres_gets_noise() -> None:
    class TwoFaced(LocalChannel):
        def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
            for client in request.cohort:
                asked = request
                if client == "c2" and plan.algorithm.key == "llf-cm":
                    centers = request.down.arrays()["centers"] + 1.0
                    asked = replace(
                        request, down=type(request.down).from_arrays({"centers": centers})
                    )
                yield client, respond(plan, asked, client, self._data[client])

    with pytest.raises(MessageError, match="less than nothing, or to more"):
        run(plan(), SecureChannel(TwoFaced(owners())), SCHEMA)


def test_a_secure_run_can_be_continued_with_new_keys(tmp_path: Any) -> None:
    from fedclust.core import load_round, save_round

    chosen = plan(max_rounds=6, tol=0.0)
    whole: Run = run(chosen, LocalChannel(owners()), SCHEMA)
    for done in rounds(chosen, SecureChannel(LocalChannel(owners())), SCHEMA):
        save_round(tmp_path / "round.npz", chosen, done)
        if done.number == 2:
            break
    saved = load_round(tmp_path / "round.npz", chosen)
    rest = run(chosen, SecureChannel(LocalChannel(owners())), SCHEMA, resume=saved)
    assert rest.model.tobytes() == whole.model.tobytes()
