"""What single algorithms do in the cases their papers argue about."""

from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import ConfigError, Data, Plan, Request, Schema, TooFewClients, respond, run
from fedclust.kernels import inertia
from fedclust.privacy import MinCount
from fedclust.typing import FloatArray

SCHEMA = Schema(1)


def client(*values: float) -> Data:
    return Data.of(np.array(values)[:, None])


def start(*values: float) -> FloatArray:
    return np.array(values)[:, None]


def message_of(
    key: str, data: Data, init: FloatArray, **settings: object
) -> dict[str, list[float]]:
    chosen = make(key, len(init), init=init, **settings)  # type: ignore[arg-type]
    plan = Plan(chosen)
    down = chosen.broadcast(chosen.start(SCHEMA, plan.rng("server", -1)))
    sent = respond(plan, Request(0, ("a",), down), "a", data).arrays()
    return {name: np.asarray(a).ravel().tolist() for name, a in sent.items()}


def test_fkm_sends_only_means_that_have_rows() -> None:
    sent = message_of("fkm", client(1.0, 2.0, 9.0, 11.0), start(0.0, 10.0, 50.0))
    assert sent["centers"] == [1.5, 10.0]
    assert sent["weight"] == [2.0, 2.0]


def test_fkm_counts_the_rows_a_mean_is_made_of_or_those_nearest_to_it() -> None:
    """After the update the row at 5 is nearer to the other mean."""
    data, init = client(0.0, 5.0, 6.0, 6.5), start(1.0, 9.5)
    assert message_of("fkm", data, init)["weight"] == [2.0, 2.0]
    assert message_of("fkm", data, init, recount=True)["weight"] == [1.0, 3.0]


def test_dwf_weighs_by_rows_at_the_received_centres() -> None:
    data, init = client(0.0, 5.0, 6.0, 6.5), start(1.0, 9.5)
    sent = message_of("dwf", data, init, min_count=1)
    assert sent["weight"] == [2.0, 2.0]  # at the start; after training it is one and three
    assert np.array(sent["total"]) / 2 == pytest.approx([0.0, 17.5 / 3])


def test_dwf_goes_where_the_rows_are_and_ewf_is_braked_by_those_without() -> None:
    data = {"has": client(9.0, 10.0, 11.0), "has not": client(0.0, 0.5, 1.0)}
    init = start(0.5, 8.0)
    once: dict[str, Any] = {"init": init, "max_rounds": 1}
    dwf = run(Plan(make("dwf", 2, **once)), LocalChannel(data), SCHEMA).model.ravel()
    ewf = run(Plan(make("ewf", 2, **once)), LocalChannel(data), SCHEMA).model.ravel()
    assert dwf.tolist() == pytest.approx([0.5, 10.0])
    assert ewf.tolist() == pytest.approx([0.5, 9.0])


def test_dwf_falls_back_to_equal_weights_where_nobody_has_rows() -> None:
    """Eq. 4: nobody holds the second centre when the round begins, but it moves in training."""
    init = start(8.0, 15.0)
    clients = {"a": client(0.0, 1.0, 11.4), "b": client(0.0, 1.0, 11.0)}
    chosen = make("dwf", 2, init=init, min_count=1, max_rounds=1)
    dwf = run(Plan(chosen), LocalChannel(clients), SCHEMA).model.ravel()
    from fedclust.kernels import lloyd

    trained = [lloyd(d.X, init, steps=5).centers.ravel() for d in clients.values()]
    assert [t[1] for t in trained] == [11.4, 11.0]
    assert dwf[1] == pytest.approx(11.2)


def test_momentum_glides_on() -> None:
    data = {"a": client(0.0, 1.0, 9.0, 10.0)}
    slow: dict[str, Any] = {"init": start(2.0, 5.0), "learning_rate": 0.1, "max_rounds": 4}
    plain = run(Plan(make("dwf", 2, **slow)), LocalChannel(data), SCHEMA).model
    gliding = run(Plan(make("dwf", 2, momentum=0.9, **slow)), LocalChannel(data), SCHEMA).model
    assert abs(gliding[1, 0] - 5.0) > abs(plain[1, 0] - 5.0)


def test_patience_ends_a_run_that_moves_no_less() -> None:
    data = {f"c{i}": client(*np.random.default_rng(i).normal(size=8)) for i in range(6)}
    from fedclust.core import ClientSampling

    chosen = make("dwf", 2, init=start(-1.0, 1.0), patience=5, max_rounds=200, tol=0.0)
    some = ClientSampling(fraction=0.5)
    done = run(Plan(chosen), LocalChannel(data), SCHEMA, sampling=some)
    assert 5 <= done.n_rounds < 200


def test_k_fed_finds_clusters_of_which_clients_have_some() -> None:
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0], [20.0, 20.0]])
    data = {
        f"c{i}": Data.of(rng.normal(means[[i, (i + 1) % 4]].repeat(30, axis=0), 1.0))
        for i in range(4)
    }
    found = run(Plan(make("k-fed", 4, n_local=2)), LocalChannel(data), Schema(2)).model
    gaps = np.abs(found[:, None] - means).sum(axis=2).min(axis=1)
    assert gaps.max() < 1.0
    assert len({int(i) for i in np.abs(found[:, None] - means).sum(axis=2).argmin(axis=1)}) == 4


def test_k_fed_works_with_more_clusters_than_features_and_fewer() -> None:
    rng = np.random.default_rng(1)
    for F in (1, 2, 30):
        X = rng.normal(size=(200, F)) + 8 * rng.integers(0, 4, (200, 1))
        data = {f"c{i}": Data.of(X[i::3]) for i in range(3)}
        found = run(Plan(make("k-fed", 4)), LocalChannel(data), Schema(F)).model
        assert np.isfinite(found).all()


def test_one_shot_reference_sends_small_clients_as_they_are() -> None:
    """What the authors' code does, and the default does not."""
    data = client(1.0, 5.0)
    for preset, sent in (("reference", {1.0, 5.0}), ("default", {3.0})):
        chosen = make("one-shot", 4, preset=preset)
        plan = Plan(chosen)
        down = chosen.broadcast(chosen.start(SCHEMA, plan.rng("server", -1)))
        reply = respond(plan, Request(0, ("a",), down), "a", data)
        assert set(reply.arrays()["centers"].ravel()) == sent


def test_avg2_finds_a_cluster_that_some_clients_lack() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal([[0.0, 0.0], [0.0, 10.0]] * 50, 1.0)
    b = rng.normal([[0.0, 10.0], [10.0, 10.0]] * 50, 1.0)
    c = rng.normal([[10.0, 10.0], [10.0, 0.0]] * 50, 1.0)
    data = {"a": Data.of(a), "b": Data.of(b), "c": Data.of(c)}
    init = np.array([[1.0, 1.0], [1.0, 8.0], [8.0, 8.0], [8.0, 2.0]])
    truth = np.array([[0.0, 0.0], [0.0, 10.0], [10.0, 10.0], [10.0, 0.0]])
    for key in ("ffcm-avg2", "c2f-fcm"):
        found = run(Plan(make(key, 4, init=init)), LocalChannel(data), Schema(2)).model
        assert np.abs(found - truth).max() < 0.5


def test_too_few_candidates_leave_the_other_centres_where_they_are() -> None:
    init = start(0.0, 10.0, 20.0)
    chosen = make("fkm", 3, init=init, max_rounds=1)
    found = run(Plan(chosen), LocalChannel({"a": client(9.0, 11.5)}), SCHEMA).model.ravel()
    assert found.tolist() == [0.0, 10.25, 20.0]


def test_uniform_seeding_never_asks_a_client() -> None:
    from fedclust.algorithms import make_seeding

    seeding = make_seeding("uniform", 3)
    plan = Plan(seeding)
    state = seeding.start(Schema(1, low=np.zeros(1), high=np.ones(1)), plan.rng("server", -1))
    assert seeding.done(state)
    reply = seeding.client_step(seeding.broadcast(state), client(1.0, 2.0), plan.rng("a", 0))
    assert reply.is_empty()
    assert len(vars(reply)["centers"]) == 0


def test_seeding_from_clients_too_small_says_so() -> None:
    from fedclust.clustering.rows import cluster

    alone = {f"c{i}": client(float(i)) for i in range(5)}
    for init in ("careful", "client", "fkm", "one-shot"):
        with pytest.raises(TooFewClients, match=f"init='{init}': no client has enough rows"):
            cluster(make("llf-cm", 2), LocalChannel(alone), SCHEMA, init=init)


def test_a_random_client_is_replaced_by_one_that_has_something_to_say() -> None:
    from fedclust.clustering.rows import cluster

    data = {f"c{i}": client(float(i)) for i in range(6)} | {"big": client(*range(40))}
    found = cluster(make("llf-cm", 2), LocalChannel(data), SCHEMA, init="client", seed=3)
    assert np.isfinite(found.centers).all()


def test_restarts_are_counted_from_one() -> None:
    from fedclust.clustering.rows import cluster

    with pytest.raises(ConfigError, match="n_init must be at least 1, got 0"):
        cluster(make("llf-cm", 2), LocalChannel({"a": client(*range(9))}), SCHEMA, n_init=0)


def test_scores_of_clients_with_one_record_are_withheld_under_the_rules() -> None:
    from fedclust.clustering.rows import cluster

    data = {"alone": client(3.0), "many": client(*range(30))}
    for privacy in ("paper", (MinCount(2),)):
        found = cluster(make("llf-cm", 2), LocalChannel(data), SCHEMA, privacy=privacy)
        expected = inertia(data["many"].X, found.centers)
        assert found.inertia == pytest.approx(expected)


def test_a_far_centre_nobody_holds_does_not_loosen_the_tolerance() -> None:
    X = np.random.default_rng(0).random((400, 1))
    near = np.array([[0.1], [0.2], [0.25]])
    runs = [
        run(Plan(make("llf-cm", len(start), init=start)), LocalChannel({"a": X}), SCHEMA).n_rounds
        for start in (near, np.vstack([near, [[1e6]]]))
    ]
    assert runs[0] == runs[1] > 3


def test_empty_clients_say_nothing_in_every_scheme() -> None:
    for key in ("dwf", "ewf"):
        chosen = make(key, 2, init=np.array([[0.0], [9.0]]))
        plan, empty = Plan(chosen), Data.of(np.empty((0, 1)))
        down = chosen.broadcast(chosen.start(SCHEMA, plan.rng("server", -1)))
        assert chosen.client_step(down, empty, plan.rng("x", 0)).is_empty()


def test_tiny_weights_are_weights() -> None:
    """A client without rows of a cluster must not outvote one whose rows weigh little."""
    light = Data.of([[0.0], [2.0]], [1e-30, 1e-30])
    chosen = make("dwf", 2, init=np.array([[0.5], [9.0]]), max_rounds=1)
    done = run(Plan(chosen), LocalChannel({"a": light, "b": client(9.0, 9.5)}), SCHEMA)
    assert done.model[0, 0] == pytest.approx(1.0)
