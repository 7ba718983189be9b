"""Differential privacy: sensitivities that hold, an account that two libraries agree on, noise."""

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust import ConfigError, MessageError
from fedclust.algorithms import make
from fedclust.algorithms.bounded_c_means import BoundedCMeans, CentersAndReach
from fedclust.algorithms.cell_seeding import CellSeeding
from fedclust.algorithms.cells import COUNTS, LIFT, CellBroadcast
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Refusal, Request, Schema, respond
from fedclust.privacy import ClientPolicy, IntegerGaussian, Ledger, Limits
from fedclust.privacy import noise as noise_module
from fedclust.privacy.accounting import delta_of, epsilon_of, mu_for
from fedclust.privacy.draws import Draws
from fedclust.privacy.noise import LEAST, gaussian
from fedclust.tiers import Private, SecurePrivate
from fedclust.typing import FloatArray, IntArray

pytest.importorskip("opendp")
from ..support.draws import TRUE_SAMPLER
from .noisy import BOX

NO_WEIGHTS = np.empty(0)


@pytest.fixture(autouse=True)
def _true_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here OpenDP draws. Limits are six standard errors away or more: one run in 10^8 fails."""
    monkeypatch.setattr(noise_module, "_sampler", TRUE_SAMPLER)


def test_the_sensitivity_is_reached() -> None:
    """So that it is no larger than it has to be."""
    chosen = BoundedCMeans(2, np.zeros(2), np.ones(2))
    down = CentersAndReach(np.array([[0.0, 0.0], [1.0, 1.0]]), 0.4)
    row = Data(np.array([[0.4, 0.1]]), NO_WEIGHTS)
    length = np.linalg.norm(chosen.client_step(down, row, None).values)  # type: ignore[arg-type]
    assert length > 0.999 * chosen.sensitivity(down)


@pytest.mark.parametrize(
    "down",
    [
        CentersAndReach(np.full((2, 2), np.nan), 0.5),
        CentersAndReach(np.zeros((2, 2)), -1.0),
        CentersAndReach(np.zeros((2, 2)), math.nan),
        CentersAndReach(np.zeros((2, 2)), 1e9),
        CentersAndReach(np.zeros((2, 2)), 0.019 * math.sqrt(2)),
    ],
)
def test_broadcasts_that_would_break_the_bound_are_refused(down: CentersAndReach) -> None:
    with pytest.raises(MessageError, match="centres that are not finite|clipped to lengths from"):
        BoundedCMeans(2, np.zeros(2), np.ones(2)).client_step(
            down,
            Data(np.ones((3, 2)), NO_WEIGHTS),
            None,  # type: ignore[arg-type]
        )


def test_stages_that_would_break_the_bound_are_refused() -> None:
    chosen = CellSeeding(2, np.zeros(2), np.ones(2))
    bad = CellBroadcast(COUNTS, np.zeros(2), np.full((2, 2), np.nan), np.zeros((2, 2)), 1.0)
    data = Data(np.ones((3, 2)), NO_WEIGHTS)
    good = replace(bad, basis=np.eye(2))
    for down, words in (
        (bad, "values not finite or out of range"),
        (replace(good, spread=-1.0), "clipped to lengths from"),
        (replace(good, stage=LIFT), "there is no stage 2 here"),
        (replace(good, basis=np.zeros((2, 2))), "a direction of length zero"),
        (replace(good, seeds=np.zeros((3, 2))), "'seeds' has shape"),
    ):
        with pytest.raises(MessageError, match=words):
            chosen.client_step(down, data, None)  # type: ignore[arg-type]


@given(mu=st.floats(0.05, 5.0), delta=st.sampled_from([1e-9, 1e-6, 1e-4]))
def test_conversions_are_inverse(mu: float, delta: float) -> None:
    epsilon = epsilon_of(mu, delta)
    if epsilon > 1e-6:
        assert delta_of(mu, epsilon) == pytest.approx(delta, rel=1e-4)
        assert mu_for(epsilon, delta) == pytest.approx(mu, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("rounds", [1, 4, 7])
def test_the_account_is_that_of_a_second_library(epsilon: float, rounds: int) -> None:
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    mu = mu_for(epsilon, 1e-6) / math.sqrt(rounds)
    account = PLDAccountant()
    account.compose(accounting.GaussianDpEvent(1.0 / mu), rounds)
    assert account.get_epsilon(1e-6) == pytest.approx(epsilon, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (101.0, 1e-6), (1.0, 0.0), (1.0, 1.0)])
def test_promises_that_are_none_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ConfigError, match="epsilon must be above 0 .* got"):
        Private(epsilon, delta)


def test_noise_is_gaussian_and_whole() -> None:
    drawn = gaussian(1000.0, 20_000)
    assert drawn.dtype == np.int64
    assert abs(drawn.mean()) < 50
    assert drawn.std() == pytest.approx(1000.0, rel=0.03)
    assert np.mean(np.abs(drawn) < 1000) == pytest.approx(0.6827, abs=0.02)


def asked(
    policy: ClientPolicy, mu: float = 0.3, share: float = 1.0, round: int = 0, seed: int = 0
) -> FloatArray:
    chosen = BoundedCMeans(2, BOX.low, BOX.high)  # type: ignore[arg-type]
    down = CentersAndReach(np.array([[0.2, 0.2], [0.8, 0.8]]), 0.4)
    data = Data(np.random.default_rng(seed).random((50, 2)), NO_WEIGHTS, policy=policy)
    plan = Plan(chosen, (IntegerGaussian(mu, share),))
    sent: Any = respond(plan, Request(round, ("a", "b", "c"), down), "a", data)
    return np.asarray(sent.values)


def test_the_same_question_gets_the_same_noise_and_is_paid_for_once() -> None:
    policy = ClientPolicy()
    first, again = asked(policy), asked(policy)
    assert np.array_equal(first, again)
    assert policy.ledger.spent == pytest.approx(0.09)
    other = asked(policy, round=1)
    assert not np.array_equal(first, other)
    assert policy.ledger.spent == pytest.approx(0.18)
    assert policy.epsilon == pytest.approx(epsilon_of(0.18**0.5, 1e-6))
    assert ClientPolicy().epsilon == 0.0


def test_other_rows_get_other_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the same noise the difference of two answers would be exact."""
    policy, drawn = ClientPolicy(), list[IntArray]()

    def draw(scale: float, n: int) -> IntArray:
        drawn.append(gaussian(scale, n))
        return drawn[-1]

    monkeypatch.setattr(noise_module, "gaussian", draw)
    asked(policy, seed=1)
    asked(policy, seed=2)
    asked(policy, seed=1)
    assert len(drawn) == 2
    assert not np.array_equal(drawn[0], drawn[1])
    assert policy.ledger.spent == pytest.approx(0.18)


def test_draws_in_a_folder_survive_a_restart_and_are_paid_for_once(tmp_path: Path) -> None:
    def policy() -> ClientPolicy:
        made = ClientPolicy(ledger=Ledger(tmp_path / "a.jsonl"))
        made.keep_draws(Draws(tmp_path / "noise", b"secret"))
        return made

    first = asked(policy())
    assert np.array_equal(first, asked(policy()))
    assert policy().ledger.spent == pytest.approx(0.09)
    policy().ledger.reset("a new year")
    asked(policy())
    assert policy().ledger.spent == pytest.approx(0.09), "a reset is paid for like a first draw"


def test_without_a_folder_noise_is_drawn_and_paid_for_anew_after_a_restart(tmp_path: Any) -> None:
    def policy() -> ClientPolicy:
        return ClientPolicy(ledger=Ledger(tmp_path / "a.jsonl"))

    first = asked(policy())
    assert not np.array_equal(first, asked(policy()))
    assert policy().ledger.spent == pytest.approx(0.18)


def test_a_client_spends_no_more_than_its_own_budget() -> None:
    policy = ClientPolicy(limits=Limits(epsilon=1.0))
    asked(policy, mu=0.2)
    with pytest.raises(Refusal, match="round 1: the privacy budget is spent"):
        asked(policy, mu=0.2, round=1)
    assert policy.epsilon <= 1.0
    asked(policy, mu=0.2)  # an answer that was given can be given again


def test_a_share_of_noise_too_small_is_refused() -> None:
    with pytest.raises(Refusal, match="a share of 0.5 of the noise is too little"):
        asked(ClientPolicy(), share=0.5)


@pytest.mark.parametrize(("mu", "answered"), [(400.0, True), (600.0, False)])
def test_noise_of_few_steps_is_refused(mu: float, answered: bool) -> None:
    """A reach of 0.4 is a sensitivity of 469,000 steps; noise must have a thousand."""
    if answered:
        asked(ClientPolicy(), mu=mu)
        return
    with pytest.raises(Refusal, match="leaves noise of fewer than 1,000 steps"):
        asked(ClientPolicy(), mu=mu)


def discrete_delta(size: float, shift: int, epsilon: float) -> float:
    """The delta of integer noise of that size, on a message that moves by a number of steps."""
    k = np.arange(-int(14 * size) - shift, int(14 * size) + shift + 1)
    here, there = (np.exp(-((k + by) ** 2) / (2 * size**2)) for by in (0, shift))
    return float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum() / here.sum())


@pytest.mark.parametrize(("size", "most"), [(1.0, math.inf), (10.0, 0.05), (LEAST, 1e-5)])
@pytest.mark.parametrize("mu", [0.05, 0.84, 4.0])
def test_the_account_of_continuous_noise_holds_from_a_thousand_steps(
    size: float, most: float, mu: float
) -> None:
    """Noise of a few steps has a larger delta than the account says, and is refused."""
    shift = max(1, round(mu * size))
    exact = {e: delta_of(shift / size, e) for e in np.geomspace(0.01, 80.0, 60).tolist()}
    excess = [
        discrete_delta(size, shift, epsilon) / delta - 1
        for epsilon, delta in exact.items()
        if delta > 1e-12
    ]
    assert max(excess) < most
    if size == 1.0:
        assert max(excess) > 0.1


def test_only_bounded_sums_can_be_noised() -> None:
    with pytest.raises(ConfigError, match="llf-cm does not say how much one record can change"):
        Plan(make("llf-cm", 2), (IntegerGaussian(1.0),))
    with pytest.raises(ConfigError, match="mu must be a number above 0"):
        IntegerGaussian(0.0)


def test_without_the_library_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noise_module._sampler.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ConfigError, match=r"pip install 'fedclust\[dp\]'"):
        gaussian(5.0, 1)


@pytest.mark.parametrize("kind", [Private, SecurePrivate])
@pytest.mark.parametrize("F", [2, 5])
def test_a_run_spends_what_the_tier_says(kind: type[Private], F: int) -> None:
    """Seeding and rounds together, in every client's own ledger."""
    from fedclust.clustering.rows import cluster

    rng = np.random.default_rng(0)
    policies = {name: ClientPolicy() for name in "abc"}
    data = {n: Data(rng.random((200, F)), NO_WEIGHTS, policy=g) for n, g in policies.items()}
    schema = Schema(F, low=np.zeros(F), high=np.ones(F))
    cluster(make("llf-cm", 3), LocalChannel(data), schema, privacy=kind(epsilon=2.0))
    for policy in policies.values():
        assert policy.epsilon == pytest.approx(2.0, rel=1e-6)


def test_noise_of_all_clients_is_enough_if_half_are_honest() -> None:
    tier = SecurePrivate()
    for n in range(3, 30):
        assert math.ceil(n / 2) * tier.variance_share(n) >= 1 - 1e-12


def test_the_audit_finds_no_more_than_was_promised() -> None:
    """A worst-case record in or out, 4,000 times: what a test can tell apart stays below mu.

    The statistic is the projection on the record's vector, which is the best there is. Its
    two means are mu standard deviations apart, which the promise allows, and no more.
    """
    chosen = BoundedCMeans(2, np.zeros(2), np.ones(2))
    down = CentersAndReach(np.array([[0.0, 0.0], [1.0, 1.0]]), 0.4)
    with_it = chosen.client_step(down, Data(np.array([[0.4, 0.0]]), NO_WEIGHTS), None)  # type: ignore[arg-type]
    vector = with_it.values.astype(float)
    mu, n = 0.8, 4000
    noise = gaussian(chosen.sensitivity(down) / mu, n * len(vector)).reshape(n, -1)
    along = vector / np.linalg.norm(vector)
    out, within = noise @ along, (noise + vector) @ along
    apart = (within.mean() - out.mean()) / out.std()
    assert apart <= mu * 1.08  # standard error of the spread: 1.1 %
    assert apart > mu * 0.9
