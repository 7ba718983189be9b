"""The number of clusters under differential privacy: noise is paid once."""

from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.clustering.auto import choose_noisy
from fedclust.clustering.choose_k import Choice
from fedclust.clustering.rows import Clustering
from fedclust.clustering.summary import find_shapes
from fedclust.clustering.summary.noisy import _drop_noise
from fedclust.core import ConfigError, Data, Schema
from fedclust.kernels import nearest
from fedclust.metrics import adjusted_rand_index
from fedclust.privacy import ClientPolicy, Ledger
from fedclust.tiers import TIERS, Tier

from .cases import HIGH, LOW, blobs

pytest.importorskip("opendp")


def choose(
    tier: Tier, X: Any, key: str = "llf-cm", clients: Any = None
) -> tuple[Clustering, Choice]:
    data = clients or {f"c{i}": Data.of(X[i::3]) for i in range(3)}
    F = X.shape[1]
    schema = Schema(F, low=np.full(F, LOW), high=np.full(F, HIGH))
    channel = tier.channel(LocalChannel(data))
    return choose_noisy(make(key, 2), channel, schema, range(2, 10), tier=tier)


@pytest.mark.parametrize("F", [2, 5])
@pytest.mark.parametrize(("name", "key"), [("dp", "llf-fcm"), ("secure+dp", "llf-cm")])
def test_k_and_clusters_come_from_noisy_sums(name: str, key: str, F: int) -> None:
    pytest.importorskip("cryptography")
    X = blobs(4, 6_000, F=F)
    found, choice = choose(TIERS[name](epsilon=4.0), X, key)  # type: ignore[call-arg]
    assert choice.recommended == len(found.centers) == 4
    assert adjusted_rand_index(np.arange(6_000) % 4, nearest(X, found.centers)[0]) > 0.98
    assert choice.summary is not None
    assert choice.summary.noise > 1
    assert choice.summary.rows == pytest.approx(6_000, rel=0.1)
    assert np.isnan(found.inertia)
    with pytest.raises(ConfigError, match="this summary has no borders"):
        find_shapes(choice.summary)


def test_the_budget_is_spent_once_and_no_more() -> None:
    X, ledgers = blobs(3, 3_000), [Ledger() for _ in range(3)]
    tier = TIERS["dp"](epsilon=4.0)  # type: ignore[call-arg]
    clients = {
        f"c{i}": Data(X[i::3], np.empty(0), policy=ClientPolicy(ledger=ledger))
        for i, ledger in enumerate(ledgers)
    }
    choose(tier, X, clients=clients)
    assert [ledger.spent for ledger in ledgers] == pytest.approx([tier.budget] * 3)  # type: ignore[attr-defined]


def test_light_micro_clusters_count_together() -> None:
    """The noise of two weights is that of one times the root of two."""
    places = np.array([[0.0], [1.0], [1.2], [9.0], [9.1], [30.0], [50.0]])
    weight = np.array([70.0, 40.0, 5.0, 45.0, 55.0, 50.0, 25.0])
    centers, held = _drop_noise(places, weight, 10.0)
    # 1.0 lies beside a heavy one; 9.0 and 9.1 merge; 30.0 is alone, and 50.0 may be noise.
    assert held.tolist() == [70.0, 100.0]
    assert centers.ravel() == pytest.approx([0.0, (9.0 * 45 + 9.1 * 55) / 100])
    for few in (np.zeros(7), np.full(7, 5.0)):
        assert len(_drop_noise(places, few, 10.0)[0]) == 0


def test_rows_that_noise_hides_are_refused() -> None:
    with pytest.raises(ConfigError, match="the noise hides the rows"):
        choose(TIERS["dp"](epsilon=0.1), blobs(3, 300))  # type: ignore[call-arg]
