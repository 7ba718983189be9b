"""Seed and cluster records whose columns are split; each owner gets its part of the centres."""

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
    derive_seed,
    did_you_mean,
    run,
)
from ..kernels.columns import Distances
from ..typing import FloatArray, IntArray
from .numbering import sort_by_size

AnyRecordAlgorithm = RecordAlgorithm[Any]
Start = str | Sequence[int] | IntArray


@dataclass(frozen=True, eq=False)
class ColumnClustering:
    """The best of several runs, and the costs of all."""

    algorithm: AnyRecordAlgorithm
    history: tuple[RoundSummary, ...]
    converged: bool  # ended because the distances converged, not at the limit of rounds
    inertia: float
    last: Record  # the assignment from which each owner computes its part of the centres
    sent: Mapping[str, int]

    @property
    def order(self) -> IntArray:
        """The clusters from the largest to the smallest."""
        return number_records(self.last, self.algorithm.n_clusters)

    @property
    def caveat(self) -> str:
        """A limitation of the result; always empty, because no tier here adds noise."""
        return ""


def labels_of(last: Record) -> IntArray:
    """The cluster of each record in an assignment, which has labels or weights u^m."""
    arrays = last.arrays()
    labels: IntArray = arrays["labels"] if "labels" in arrays else arrays["weights"].argmax(axis=1)
    return labels


def number_records(last: Record, n_clusters: int) -> IntArray:
    """The clusters of an assignment in the order of their numbers: largest first."""
    return sort_by_size(np.bincount(labels_of(last), minlength=n_clusters))


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
    """Seed and run `n_init` times, and keep the lowest inertia, which the server knows."""
    if not isinstance(init, str):
        n_init = min(n_init, 1)  # the same start would give the same result
    best: ColumnClustering | None = None
    sent: dict[str, int] = {}
    for attempt in range(n_init):
        runs: list[Run] = []
        if isinstance(init, str):
            plan = Plan(
                make_record_seeding(algorithm, init),
                transforms,
                derive_seed(seed, "seeding", attempt),
            )
            runs = [runner(replace(plan, purpose="start"), channel, schema)]
        start = runs[0].model if runs else _as_records(init)
        ready = replace(algorithm, init=start)
        done = runner(
            Plan(ready, transforms, derive_seed(seed, "clustering", attempt)), channel, schema
        )
        for part in (*runs, done):
            for owner, size in part.sent.items():
                sent[owner] = sent.get(owner, 0) + size
        inertia = float(done.state.d2.min(axis=1).sum())
        if best is None or inertia < best.inertia:
            # Do not keep the run: its state has n_records x n_clusters numbers.
            converged = replace(ready, max_rounds=done.n_rounds + 1).done(done.state)
            last = ready.broadcast(done.state)
            best = ColumnClustering(ready, done.history, converged, inertia, last, sent)
        del done
    if best is None:
        raise ConfigError(f"n_init must be at least 1, got {n_init}")
    return best


def make_record_seeding(algorithm: AnyRecordAlgorithm, init: str) -> AnyAlgorithm:
    """The seeding of a name, for an algorithm over split columns."""
    key = {"auto": str(algorithm.seeding), "k-means++": "vertical-k-means++"}.get(init, init)
    if key not in VERTICAL_SEEDINGS:
        names = ("k-means++", "records", "partition")
        raise ConfigError(
            f"init={init!r} is not one of {', '.join(names)}, a record number per cluster or a "
            f"cluster number per record{did_you_mean(init, names)}"
        )
    return make_seeding(key, algorithm.n_clusters, message_dtype=algorithm.message_dtype)


def _as_records(init: Any) -> IntArray:
    try:
        given = np.asarray(init)
    except ValueError:
        given = np.empty(0)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ConfigError(
            "init must be a name, a record number per cluster, or a cluster number per record"
        )
    return given


def compute_distances(
    parts: Mapping[str, FloatArray], tables: Mapping[str, FloatArray], message_dtype: str
) -> tuple[FloatArray, Run]:
    """Squared distances of records to centres, in one round over the owners' parts."""
    k = len(next(iter(parts.values())))
    data = {
        owner: Data(cast(Any, Distances(X, parts[owner], message_dtype)), np.empty(0))
        for owner, X in tables.items()
    }
    n = len(next(iter(tables.values())))
    done = run(Plan(VerticalAssignment(k)), LocalChannel(data), Schema(k, n_records=n))
    return done.model, done
