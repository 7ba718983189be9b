"""Run a study's algorithm with its rows distributed over many simulated clients."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...channels import LocalChannel
from ...clustering.rows import Clustering, cluster
from ...core import Batches, ClientSampling, ConfigError, Schema, run
from ...datasets import dirichlet, iid
from ...kernels import nearest
from ...study.layouts import layout_of
from ...study.layouts.rows import RowsLayout
from ...study.pool import open_pool
from ...study.scaling import learn_scale
from ...study.settings import Study, make_algorithm, make_tier
from ...typing import FloatArray, IntArray

SPLITS = ("iid", "dirichlet")


@dataclass(frozen=True)
class Simulation:
    """Result and cost of a simulated run."""

    algorithm: str
    clients: int
    rows: tuple[int, int, int]  # of a client: fewest, median, most
    rounds: int
    seconds: float
    bytes_up: int  # of all clients, in all rounds
    inertia: float
    pooled: float  # inertia of one client with all rows, from the same start


def simulate(study: Study, n_clients: int, split: str = "iid", alpha: float = 0.5) -> Simulation:
    """Run the study's algorithm with its rows distributed over this many clients."""
    clustering = study.clustering
    if clustering.n_clusters == "auto":
        raise ConfigError(f"{study.path}: a simulation needs a number for n_clusters, not auto")
    if not isinstance(layout_of(study), RowsLayout):
        raise ConfigError(f'{study.path}: split = "{study.data.split}" cannot be simulated')
    if split not in SPLITS:
        raise ConfigError(f"--split must be one of {', '.join(SPLITS)}, got {split!r}")
    rows, schema = _all_rows(study)
    if not 1 <= n_clients <= len(rows):
        raise ConfigError(f"--clients must be from 1 to {len(rows)}, the number of rows")
    algorithm = make_algorithm(clustering, study.n_clusters[0])
    options: dict[str, Any] = {"n_init": clustering.n_init, "seed": clustering.seed}
    alone = cluster(algorithm, LocalChannel({"all": rows}), schema, init=clustering.init, **options)
    owner = _assign_owners(rows, alone, n_clients, split, alpha, clustering.seed)
    tables = {f"{m:0{len(str(n_clients))}d}": rows[owner == m] for m in range(n_clients)}
    start = alone.algorithm.parameter("init")
    started = time.perf_counter()
    result = cluster(
        algorithm,
        LocalChannel(tables),
        schema,
        init="auto" if start is None else start,
        privacy=make_tier(study, "none"),
        sampling=ClientSampling(study.sampling.fraction, study.sampling.min_clients),
        **options,
    )
    seconds = time.perf_counter() - started
    sizes = [len(table) for table in tables.values()]
    return Simulation(
        algorithm.key,
        n_clients,
        (min(sizes), int(np.median(sizes)), max(sizes)),
        result.run.n_rounds,
        seconds,
        sum(result.sent.values()),
        result.inertia,
        alone.inertia,
    )


def _all_rows(study: Study) -> tuple[FloatArray, Schema]:
    """All prepared rows of all clients in one table, and their schema."""
    pool, tier, layout = open_pool(study, {}), make_tier(study, "none"), RowsLayout(study)
    survey = layout.survey(pool, tier)
    survey.refuse_problems()
    preparation = learn_scale(study, pool, survey.columns, tier, run).preparation
    parts = []
    for session in pool.sessions.values():
        rows = session.files.prepare(preparation)
        if isinstance(rows, Batches):
            raise ConfigError("a simulation needs all rows in memory; set batch_rows = 0")
        parts.append(rows.X)
    return np.concatenate(parts), preparation.schema()


def _assign_owners(
    rows: FloatArray, alone: Clustering, n_clients: int, split: str, alpha: float, seed: int
) -> IntArray:
    """Assign each row to a client: at random, or with uneven shares of each cluster."""
    if split == "iid":
        return iid(len(rows), n_clients, seed)
    return dirichlet(nearest(rows, alone.centers)[0], n_clients, alpha, seed)
