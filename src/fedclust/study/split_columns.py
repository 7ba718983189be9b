"""Run a study whose clients have different columns of the same records."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..algorithms.record_alignment import RecordAlignment
from ..client.labels import writer_for
from ..client.vertical import Ending, Wanted
from ..clustering.alignment import MIN_OVERLAP, enough_shared
from ..clustering.columns import ColumnClustering, cluster_columns
from ..clustering.model import ColumnsModel
from ..core import ConfigError, DataError, Plan, Schema, TooFewClients, run
from ..metrics import inertia
from ..results import ClusterProfile, QualityRecord, RunProfile
from ..tiers import Tier
from ..typing import Array
from .describe_run import describe_clients, describe_run, summarize_phases
from .journal import Journal, OnRound
from .pool.local_columns import (
    LocalOwners,
    Offered,
    OwnerExamination,
    Owners,
    centers_beside,
    examine_owners,
    owner_files,
)
from .preflight import refuse
from .read import resolve_tier
from .run_directory import Folder
from .settings import Study
from .split import columns_algorithm


@dataclass(frozen=True, eq=False)
class ColumnsOutcome:
    """What a study over split columns found, and where it is written."""

    folder: Path
    model: ColumnsModel
    clustering: ColumnClustering
    labels: Mapping[str, Path | str]  # by owner: these stay there
    offered: Mapping[str, int]  # rows of each owner that could take part
    n_records: int  # that all of them have


def run_columns(
    study: Study,
    folder: Path,
    *,
    force: bool = False,
    resume: bool = False,
    secret: str | bytes | None = None,
    on_round: OnRound | None = None,
) -> ColumnsOutcome:
    """Run the study in this process and write its folder, whole or not at all.

    The order of the records, and so what the seed draws, is that of keyed hashes of their ids:
    with the secret of owners across machines, the run is theirs bit for bit.
    """
    place = Folder(study, folder, force=force, resume=resume)
    for target in owner_files(study, folder).values():
        if study.outputs.labels != "none":
            writer_for(target)
        there = next((t for t in (target, centers_beside(target)) if t.exists()), None)
        if there and not force and not resume:
            raise ConfigError(f"{there} is there already; give another --out, or --force")
    return carry_out_columns(study, LocalOwners(study, folder, secret), place, on_round=on_round)


def examine_columns(study: Study) -> OwnerExamination:
    """All problems of all owners at once; nothing is computed."""
    return examine_owners(study, wanted_of(study, resolve_tier(study, LocalOwners.tier)))


def wanted_of(study: Study, tier: Tier) -> Wanted:
    """What the study asks of every owner."""
    scaling = study.data.scaling or ("min-max" if tier.sums_only else "standard")
    return Wanted(study.features, scaling, study.data.missing)


def carry_out_columns(
    study: Study, owners: Owners, place: Folder, *, on_round: OnRound | None = None
) -> ColumnsOutcome:
    """All that such a study is, wherever its owners are."""
    tier = resolve_tier(study, owners.tier)
    algorithm = columns_algorithm(study.clustering)
    seen = owners.look(study, wanted_of(study, tier))
    refuse(seen)
    journal = place.journal(on_round)
    schema = _aligned(owners, seen, tier, journal)
    if schema.records() < algorithm.n_clusters:
        raise DataError(
            f"{schema.records()} records that all owners have cannot make n_clusters = "
            f"{algorithm.n_clusters}; choose fewer clusters"
        )
    journal.phase = "clustering"
    channel = tier.channel(owners.aligned(schema))
    if silent := sorted(set(seen.offered) - set(channel.clients())):
        raise TooFewClients(f"every owner is needed, and no key came from {', '.join(silent)}")
    found = cluster_columns(
        algorithm,
        channel,
        schema,
        init=study.clustering.init,
        n_init=study.clustering.n_init,
        seed=study.clustering.seed,
        transforms=tier.transforms(algorithm, schema),
        runner=journal,
    )
    end = Ending.of(study.path.stem, found.algorithm, found.last)
    labels = {owner: place.final(said) for owner, said in owners.finish(end).items()}
    guarantee = tier.guarantee
    about = describe_run(study, algorithm, found, tier, guarantee, journal.told)
    owned = dict(sorted(seen.n_columns.items()))
    model = ColumnsModel(found.algorithm.key, end.sizes, owned, schema.records(), about)
    place.finish(model, found.history, _profile(study, found, end, seen, journal), None)
    return ColumnsOutcome(place.path, model, found, labels, seen.offered, schema.records())


def _aligned(owners: Owners, seen: Offered, tier: Tier, journal: Journal) -> Schema:
    """Find the shared records, and have every owner find its rows of them.

    This is not taken from the journal: owners that were restarted must hear it again, and a run
    that goes on must do so with the same records and values.
    """
    journal.phase = "aligning"
    done = run(Plan(RecordAlignment()), owners.offered(), Schema(2))
    journal.note(done)
    shared: Array = done.model
    enough_shared(len(shared), seen.offered, MIN_OVERLAP)
    prints = owners.align(shared)
    lines = [hashlib.sha256(shared.tobytes()).hexdigest()]
    lines += [f"{owner} {seen.n_columns[owner]} {prints[owner]}" for owner in sorted(prints)]
    journal.agree("records.txt", "\n".join(lines), "owners, their records or values have changed")
    F = sum(seen.n_columns.values())
    if not tier.sums_only:
        return Schema(F, n_records=len(shared))
    return Schema(F, low=np.zeros(F), high=np.ones(F), n_records=len(shared))


def _profile(
    study: Study, found: ColumnClustering, end: Ending, seen: Offered, journal: Journal
) -> RunProfile:
    """What the report shows; the server knows nothing of columns, so nothing of features."""
    offered = dict(sorted(seen.offered.items()))
    used = dict.fromkeys(offered, len(end.labels))
    rounds = dict.fromkeys(offered, len(found.history))  # every round needs every owner
    return RunProfile(
        minimum=study.privacy.min_count,
        clients=describe_clients(offered, used, rounds, "not at all owners"),
        clusters=tuple(
            ClusterProfile(id=c, size=size, by_client={}, features=(), entropy=_entropy(end, c))
            for c, size in enumerate(end.sizes, 1)
        ),
        map=None,
        quality=(
            QualityRecord(
                index=inertia.name, value=found.inertia, pooled=None, better=inertia.better
            ),
        ),
        phases=summarize_phases(journal.told),
        uncounted=0,  # the server has every record's label
    )


def _entropy(end: Ending, number: int) -> float | None:
    """How mixed the memberships of a cluster's records are, from 0 to 1; none where hard."""
    shares, k = end.memberships, len(end.order)
    mine = end.labels == number
    if shares is None or k == 1 or not mine.any():
        return None
    u = shares[mine]
    logs = np.log(np.where(u > 0, u, 1.0))
    return float(np.clip(-(u * logs).sum(axis=1).mean() / np.log(k), 0.0, 1.0))
