"""A report is a further look at the same rows: what a server learns of it beyond the run."""

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from fedclust.core import EmptyRound, Plan, Schema, run
from fedclust.metrics import ClusterShapes, Profile
from fedclust.tiers import Guarded, Tier
from fedclust.typing import FloatArray

from . import differencing
from .server import EVERYBODY, CuriousServer, Look, dealt, exact, table, watched


def described(server: CuriousServer, centers: FloatArray, tier: Tier) -> Any:
    """Ask for the clusters' sizes, means and shapes, as a study does at its end."""
    k, F = centers.shape
    box = Schema(F, low=np.zeros(F), high=np.ones(F))
    channel = tier.channel(server)
    with suppress(EmptyRound):
        for asked in (Profile(k, centers), ClusterShapes(k, centers, np.eye(F, 2))):
            run(tier.plan(asked, channel, box), channel, box)


def looks_of(server: CuriousServer) -> list[Look]:
    """Those of the run, and of each client's profile."""
    found = []
    for plan, request, who, message in server.notes:
        if plan.algorithm.key == "profile":
            sums: Any = message
            centers = np.asarray(request.down.arrays()["centers"])
            total = sums.total + sums.size[:, None] * centers
            found.append(Look(who, centers, sums.size, total))
    rounds = CuriousServer({})
    rounds.notes = [n for n in server.notes if n[0].algorithm.key not in ("profile", "outline")]
    return found + [look for look in rounds.looks() if look.who != EVERYBODY]


@pytest.mark.parametrize("name", ["iris", "wine", "diabetes"])
@pytest.mark.parametrize("seed", range(4))
def test_a_profile_of_grouped_rows_shows_no_record(name: str, seed: int) -> None:
    X, k = table(name)
    server, found = watched(dealt(X, 3, seed), k, Guarded(), seed=seed)
    described(server, found.centers, Guarded())
    assert exact(differencing.recovered(looks_of(server)), X) == 0


def test_a_profile_of_rows_would() -> None:
    """The same questions in the open."""
    X, k = table("diabetes")
    server, found = watched(dealt(X, 3, 0), k, "none", seed=0)
    run(Plan(Profile(k, found.centers)), server, Schema(X.shape[1]))
    assert exact(differencing.recovered(looks_of(server)), X) > 0
