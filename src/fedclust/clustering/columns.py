"""Seed and cluster records whose columns are split; then each owner has its part of the centres."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..algorithms import VERTICAL_SEEDINGS, make_seeding
from ..algorithms.records import RecordAlgorithm
from ..algorithms.vertical_assignment import VerticalAssignment
from ..channels import LocalChannel
from ..core import (
    AnyAlgorithm,
    Channel,
    ConfigError,
    Data,
    Plan,
    Record,
    RoundSummary,
    Run,
    Runner,
    Schema,
    Transform,
    derived,
    did_you_mean,
    run,
)
from ..kernels.columns import Distances
from ..typing import FloatArray, IntArray

AnyRecordAlgorithm = RecordAlgorithm[Any]
Start = str | Sequence[int] | IntArray


@dataclass(frozen=True, eq=False)
class ColumnClustering:
    """The best of a few runs, and what all of them cost."""

    algorithm: AnyRecordAlgorithm
    history: tuple[RoundSummary, ...]
    converged: bool  # ended because the distances rested, not because rounds ran out
    inertia: float
    last: Record  # the assignment that makes the final centres, at each owner its part
    sent: Mapping[str, int]

    @property
    def caveat(self) -> str:
        """What limits the use of the result; no tier over split columns adds noise."""
        return ""


def cluster_columns(
    algorithm: AnyRecordAlgorithm,
    channel: Channel,
    schema: Schema,
    *,
    init: Start = "auto",
    n_init: int = 1,
    seed: int = 0,
    transforms: tuple[Transform, ...] = (),
    runner: Runner = run,
) -> ColumnClustering:
    """Seed and run `n_init` times; the lowest inertia wins, which the server knows."""
    if not isinstance(init, str):
        n_init = min(n_init, 1)  # the same start would give the same end
    best: ColumnClustering | None = None
    sent: dict[str, int] = {}
    for attempt in range(n_init):
        runs: list[Run] = []
        if isinstance(init, str):
            drawn = Plan(_seeding(algorithm, init), transforms, derived(seed, "seeding", attempt))
            runs = [runner(replace(drawn, purpose="start"), channel, schema)]
        start = runs[0].model if runs else _as_records(init)
        ready = replace(algorithm, init=start)
        done = runner(
            Plan(ready, transforms, derived(seed, "clustering", attempt)), channel, schema
        )
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


def _seeding(algorithm: AnyRecordAlgorithm, init: str) -> AnyAlgorithm:
    key = {"auto": str(algorithm.seeding), "k-means++": "vertical-k-means++"}.get(init, init)
    if key not in VERTICAL_SEEDINGS:
        words = ("k-means++", "records", "partition")
        raise ConfigError(
            f"init={init!r} is not one of {', '.join(words)}, a record for each cluster or a "
            f"cluster for each record{did_you_mean(init, words)}"
        )
    return make_seeding(key, algorithm.n_clusters, message_dtype=algorithm.message_dtype)


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
    parts: Mapping[str, FloatArray], tables: Mapping[str, FloatArray], message_dtype: str
) -> tuple[FloatArray, Run]:
    """Squared distances of records to the centres of which each owner holds a part: one round."""
    k = len(next(iter(parts.values())))
    data = {
        owner: Data(cast(Any, Distances(X, parts[owner], message_dtype)), np.empty(0))
        for owner, X in tables.items()
    }
    n = len(next(iter(tables.values())))
    done = run(Plan(VerticalAssignment(k)), LocalChannel(data), Schema(k, n_records=n))
    return done.model, done
