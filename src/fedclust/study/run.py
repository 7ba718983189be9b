"""Run a study: prepare, cluster, describe, and leave labels with each client."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import make
from ..client.labels import writer_for
from ..clustering.choose_k import Choice, choose
from ..clustering.model import Model
from ..clustering.preparation import Column, Preparation
from ..clustering.rows import Clustering, cluster
from ..core import ClientSampling, ConfigError
from ..results import ClientRecord, RunProfile
from ..tiers import Tier
from ..typing import FloatArray, IntArray
from .describe_clusters import ClusterQueries, describe_clusters, measure_quality, sum_clusters
from .describe_run import (
    CHOOSING,
    COMPARING,
    describe_clients,
    describe_run,
    summarize_phases,
)
from .identity import by_size, numbered
from .journal import Journal, OnRound
from .pool.local_rows import Clients, LocalClients
from .preflight import Seen, refuse
from .read import resolve_tier
from .rows import Ready, make_ready, total
from .run_directory import Folder, label_files
from .settings import Study, make_algorithm

_ROWS_PER_CLUSTER = 5  # fewer are no evidence for so many clusters


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a study found, and where it is written."""

    folder: Path
    model: Model
    clustering: Clustering
    labels: Mapping[str, Path | str]  # by client: these stay there
    choice: Choice | None  # of the number of clusters, if the data chose it
    rows: int | None  # of all clients; None: the tier hides it
    used: int | None  # those that took part


def run_study(
    study: Study,
    folder: Path,
    *,
    force: bool = False,
    resume: bool = False,
    like: Model | None = None,
    on_round: OnRound | None = None,
) -> Outcome:
    """Run the study in this process and write its folder, whole or not at all."""
    if study.data.split == "columns":
        raise ConfigError(f'{study.path}: split = "columns" is run by run_columns')
    place = Folder(study, folder, force=force, resume=resume)
    targets = label_files(study, folder)
    for target in targets.values():
        writer_for(target)
        if target.exists() and not force and not resume:
            raise ConfigError(f"{target} is there already; give another --out, or --force")
    return carry_out(study, LocalClients(targets), place, like=like, on_round=on_round)


def carry_out(
    study: Study,
    clients: Clients,
    place: Folder,
    *,
    like: Model | None = None,
    on_round: OnRound | None = None,
) -> Outcome:
    """All that a study is, wherever its clients are."""
    tier = resolve_tier(study, clients.tier)
    seen = clients.look(study, tier)
    refuse(seen)
    if like is not None:
        _same_columns(like, seen.columns)
    journal = place.journal(on_round)
    journal.phase = "scaling"
    ready = make_ready(study, clients, seen, tier, journal)
    found, choice = _clustered(study, ready, tier, journal)
    journal.phase = "describing"
    queries = ClusterQueries(ready.channel, ready.schema, tier, journal, study.privacy.min_count)
    sums = sum_clusters(found, queries)
    model, order = _numbered(study, found, ready.preparation, sums.size.astype(int), like)
    clusters, drawn = describe_clusters(model, sums.reorder(order), queries)
    pooled = _pooled(found, ready, journal, clients.compares)
    n_rows, used = total(seen.rows.values()), total(ready.used.values())
    profile = RunProfile(
        minimum=queries.min_count,
        clusters=clusters,
        map=drawn,
        quality=measure_quality(found, pooled, queries),
        uncounted=_count_uncounted(used, model, tier),
        clients=_describe_clients(seen, ready, found, journal),
        phases=summarize_phases(journal.told),
    )
    written = clients.label(model) if study.outputs.labels != "none" else {}
    labels = {client: place.final(where) for client, where in written.items()}
    requested = make_algorithm(study.clustering, len(found.centers))
    about = describe_run(study, requested, found, tier, tier.guarantee, journal.told, like)
    model = replace(model, about=about)
    place.finish(model, found.history, profile, choice)
    return Outcome(place.path, model, found, labels, choice, n_rows, used)


def _count_uncounted(used: int | None, model: Model, tier: Tier) -> int | None:
    """Rows that took part and are in no known size; None: the tier hides it."""
    if used is None or tier.guards:
        return None
    return used - sum(n or 0 for n in model.sizes)


def _describe_clients(
    seen: Seen, ready: Ready, found: Clustering, journal: Journal
) -> tuple[ClientRecord, ...]:
    best = next(run for run in journal.told if run.sent is found.run.sent)
    return describe_clients(seen.rows, ready.used, best.took_part, "a gap in a feature")


def _clustered(
    study: Study, ready: Ready, tier: Tier, journal: Journal
) -> tuple[Clustering, Choice | None]:
    """The clusters, after their number was chosen if the study leaves it to the data."""
    asked = study.clustering
    common: dict[str, Any] = {
        "init": asked.init,
        "privacy": tier,
        "sampling": ClientSampling(study.sampling.fraction, study.sampling.min_clients),
        "seed": asked.seed,
        "runner": journal,
    }
    n_clusters, choice = study.n_clusters[0], None
    if asked.n_clusters == "auto":
        journal.phase = CHOOSING
        ks = _tried(study, sum(n or 0 for n in ready.used.values()))
        algorithm = make_algorithm(asked, ks[-1])
        choice = choose(algorithm, ready.channel, ready.schema, ks, **common)
        if ks[-1] < study.n_clusters[1]:
            more = f"; more than {ks[-1]} would leave fewer than {_ROWS_PER_CLUSTER} rows to each"
            choice = replace(choice, why=choice.why + more)
        n_clusters = choice.recommended
    journal.phase = "clustering"
    algorithm = make_algorithm(asked, n_clusters)
    n_init = asked.n_init
    return cluster(algorithm, ready.channel, ready.schema, n_init=n_init, **common), choice


def _tried(study: Study, n_rows: int) -> range:
    """The study's range, less what so few rows cannot bear."""
    low, high = study.n_clusters
    return range(low, max(low + 1, min(high + 1, n_rows // _ROWS_PER_CLUSTER)))


def _numbered(
    study: Study, found: Clustering, ready: Preparation, sizes: IntArray, like: Model | None
) -> tuple[Model, IntArray]:
    """The clusters in the order of their numbers: by size, or as an earlier run had them."""
    order = by_size(sizes, found.centers)
    ids = list(range(1, len(order) + 1))
    if like is not None:
        ids = _ids_like(like, ready, found.centers[order])
        order, ids = order[np.argsort(ids)], sorted(ids)
    fuzzifier = vars(found.algorithm)["fuzzifier"] if found.algorithm.soft else None
    sized = tuple(int(n) or None for n in sizes[order])  # none may be few: clients do not say
    key, na_values = found.algorithm.key, study.data.na_values
    centers = found.centers[order]
    return Model(centers, tuple(ids), sized, ready, key, fuzzifier, na_values=na_values), order


def _same_columns(like: Model, columns: tuple[Column, ...]) -> None:
    if like.preparation.columns != columns:
        theirs, ours = ([c.name for c in each] for each in (like.preparation.columns, columns))
        raise ConfigError(
            f"--like: the earlier run has the columns {', '.join(theirs)}, this one "
            f"{', '.join(ours)}, or other bounds or categories; such clusters cannot be matched"
        )


def _ids_like(like: Model, ready: Preparation, centers: FloatArray) -> list[int]:
    """Compared on the earlier run's scale: this run's differs by what has changed since."""
    theirs = like.preparation
    moved = (centers * ready.scale + ready.offset - theirs.offset) / theirs.scale
    return numbered(moved, like.centers, like.ids)


def _pooled(found: Clustering, ready: Ready, journal: Journal, compares: bool) -> FloatArray | None:
    """Centres of the lossless run from the same start: what pooling would have given.

    None where clients withhold something, or have not agreed to be asked for more.
    """
    if not found.guarantee.exact:
        return None
    if found.algorithm.lossless:
        return found.centers
    if not compares:
        return None
    before, journal.phase = journal.phase, COMPARING
    settings = vars(found.algorithm)
    same = {"fuzzifier": settings["fuzzifier"]} if found.algorithm.soft else {}
    lossless = make("llf-fcm" if found.algorithm.soft else "llf-cm", len(found.centers), **same)
    start = settings.get("init")
    init = "auto" if start is None else start
    pooled = cluster(lossless, ready.channel, ready.schema, init=init, runner=journal).centers
    journal.phase = before
    return pooled
