"""Seed and cluster records whose columns are split; then each owner has its part of the centres."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from .algorithms import VERTICAL_SEEDINGS, did_you_mean, make_seeding
from .algorithms._records import RecordAlgorithm
from .algorithms.vertical_assignment import VerticalAssignment
from .channels import LocalChannel
from .core import Channel, ConfigError, Data, Line, Plan, Record, Run, Schema, derived, run
from .kernels.columns import Distances
from .typing import FloatArray, IntArray

# What everybody who takes part has to know; it stands in the docs, in the result, on the console.
TRUST = (
    "The server must be trusted with geometry (a semi-trusted server): it sees the summed "
    "distances of all records to all centres, and whoever keeps those of a few rounds can rebuild "
    "the records up to a rotation and a shift. It is not told values, columns' names or ids. With "
    "fuzzy c-means memberships tell the owners much of the same about each other's columns."
)

AnyRecordAlgorithm = RecordAlgorithm[Any]
Start = str | Sequence[int] | IntArray


@dataclass(frozen=True, eq=False)
class ColumnClustering:
    """The best of a few runs, and what all of them cost."""

    algorithm: AnyRecordAlgorithm
    history: tuple[Line, ...]
    converged: bool  # ended because the distances rested, not because rounds ran out
    inertia: float
    last: Record  # the assignment that makes the final centres, at each owner its part
    sent: Mapping[str, int]


def cluster_columns(
    algorithm: AnyRecordAlgorithm,
    channel: Channel,
    schema: Schema,
    *,
    init: Start = "auto",
    n_init: int = 1,
    seed: int = 0,
) -> ColumnClustering:
    """Seed and run `n_init` times; the lowest inertia wins, which the server knows."""
    if not isinstance(init, str):
        n_init = min(n_init, 1)  # the same start would give the same end
    best: ColumnClustering | None = None
    sent: dict[str, int] = {}
    for attempt in range(n_init):
        ready, runs = _seeded(algorithm, channel, schema, init, derived(seed, "seeding", attempt))
        done = run(Plan(ready, seed=derived(seed, "clustering", attempt)), channel, schema)
        for part in (*runs, done):
            for owner, size in part.sent.items():
                sent[owner] = sent.get(owner, 0) + size
        inertia = float(done.state.d2.min(axis=1).sum())
        if best is None or inertia < best.inertia:
            # Not the run itself: its state is as large as all records times all clusters.
            rested = replace(ready, max_rounds=done.n_rounds + 1).done(done.state)
            last = ready.broadcast(done.state)
            best = ColumnClustering(ready, done.history, rested, inertia, last, sent)
        del done
    if best is None:
        raise ConfigError(f"n_init must be at least 1, got {n_init}")
    return best


def _seeded(
    algorithm: AnyRecordAlgorithm, channel: Channel, schema: Schema, init: Start, seed: int
) -> tuple[AnyRecordAlgorithm, list[Run]]:
    if not isinstance(init, str):
        return replace(algorithm, init=_as_records(init)), []
    key = {"auto": str(algorithm.seeding), "k-means++": "vertical-k-means++"}.get(init, init)
    if key not in VERTICAL_SEEDINGS:
        words = ("k-means++", "records", "partition")
        raise ConfigError(
            f"init={init!r} is not one of {', '.join(words)}, a record for each cluster or a "
            f"cluster for each record{did_you_mean(init, words)}"
        )
    seeding = make_seeding(key, algorithm.n_clusters, wire=algorithm.wire)
    done = run(Plan(seeding, seed=seed), channel, schema)
    return replace(algorithm, init=done.model), [done]


def _as_records(init: Any) -> IntArray:
    try:
        given = np.asarray(init)
    except ValueError:
        given = np.empty(0)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ConfigError(
            "init must be a word, a record number for each cluster, or a cluster "
            "number for each record"
        )
    return given


def distances_to(
    parts: Mapping[str, FloatArray], tables: Mapping[str, FloatArray], wire: str
) -> tuple[FloatArray, Run]:
    """Squared distances of records to the centres of which each owner holds a part: one round."""
    k = len(next(iter(parts.values())))
    data = {
        owner: Data(cast(Any, Distances(X, parts[owner], wire)), np.empty(0))
        for owner, X in tables.items()
    }
    n = len(next(iter(tables.values())))
    done = run(Plan(VerticalAssignment(k)), LocalChannel(data), Schema(k, n_records=n))
    return done.model, done
