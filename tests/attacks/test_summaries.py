"""A reader who subtracts the small groups of rows in published summaries from one another."""

import numpy as np
import pytest

from fedclust.channels import LocalChannel
from fedclust.clustering.summary import DataSummary, SummaryRun, publish
from fedclust.core import Data, Schema
from fedclust.tiers import tier_of
from fedclust.typing import FloatArray

from .followed import DATA
from .hostile import table_of
from .readers import Published, combine, count

pytest.importorskip("sklearn")
MICRO = (12, 48)  # micro-clusters of two studies over the same rows


def learn(X: FloatArray, n_micro: int) -> DataSummary:
    """The exact summary, which is the same for every split of the rows."""
    F = X.shape[1]
    data = {"all": Data(X, np.empty(0))}
    schema = Schema(F, low=np.zeros(F), high=np.ones(F))
    return SummaryRun(LocalChannel(data), schema, tier_of("none")).learn(n_micro)


def records(X: FloatArray, summaries: list[DataSummary]) -> int:
    """Records among the differences of groups, of pairs of them, and of all rows."""
    return count(X, combine([Published(s.weight, s.centers) for s in summaries]), 1e-3)


def test_published_summaries_give_no_record() -> None:
    """To the last digit they give some, of iris."""
    found = 0
    for name in ("iris", "wine"):
        X = table_of(name, DATA[name])
        exact = [learn(X, n) for n in MICRO]
        found += records(X, exact)
        assert records(X, [publish(one, 5) for one in exact]) == 0
    assert found > 0
