"""Split columns: every client has its own columns of the same records."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...algorithms.record_alignment import RecordAlignment
from ...client.column_session import digest_of
from ...client.problems import ALL, Problem
from ...client.requests import (
    Alignment,
    AlignRecords,
    ColumnTask,
    FinishColumns,
    OfferRecords,
    RecordsOffer,
    RecordTokens,
    SharedRecords,
    Written,
)
from ...client.vertical import FinalAssignment
from ...clustering.alignment import MIN_OVERLAP, check_overlap
from ...clustering.columns import ColumnClustering, cluster_columns
from ...clustering.model import ColumnsModel, Model
from ...core import (
    Channel,
    DataError,
    Message,
    Plan,
    Request,
    Schema,
    TooFewClients,
    Wrapper,
    run,
)
from ...data.ids import check_comparable
from ...metrics import inertia
from ...privacy import ClientPolicy, Limits
from ...results import ClusterProfile, QualityRecord, RunProfile
from ...tiers import Tier
from ...typing import Array
from ..conflicts import find_column_conflicts, find_unprotected_columns
from ..describe_run import describe_clients, summarize_phases
from ..journal import Journal
from ..phases import Phase
from ..pool import ClientPool, LocalPool
from ..settings import Conflict, Study, make_columns_algorithm
from .base import Clustered, Described, Layout, Survey

_LIMITS = Limits(max_rounds=10_000)  # no client-side round limit when all data are in one process


@dataclass(frozen=True, eq=False)
class _Prepared:
    """The records that all clients share."""

    channel: Channel
    schema: Schema
    form: SharedRecords
    offers: Mapping[str, RecordsOffer]


class ColumnsLayout(Layout):
    """Distances add up over columns; every client keeps its part of the centres."""

    split: ClassVar[str] = "columns"
    keeps_state: ClassVar[bool] = True  # the shared records
    preparing: ClassVar[Phase] = Phase.ALIGNING

    def find_missing_settings(self, *, files: bool) -> Iterator[Conflict]:
        if files and self.study.data.id is None:
            text = 'split = "columns" aligns records by their ids; set id to the id column'
            yield Conflict(("data", "id"), text)

    def complete_settings(self) -> Study:
        """Every client is needed, from the first round on."""
        sampling = self.study.sampling
        least = max(len(self.study.clients), sampling.min_clients)
        return replace(self.study, sampling=replace(sampling, min_clients=least))

    def find_conflicts(self) -> Iterator[Conflict]:
        return find_column_conflicts(self.study)

    def find_unprotected(self, tier: Tier) -> Iterator[Conflict]:
        return find_unprotected_columns(tier, self.study)

    def adapt_tier(self, tier: Tier) -> Tier:
        return tier.for_columns() or tier  # without one the study was refused

    @property
    def label_format(self) -> str:
        """A client's part of the centres is named after its labels, so it needs a format."""
        wanted = self.study.outputs.labels
        return "csv" if wanted == "none" else wanted

    def make_policy(self) -> ClientPolicy:
        return ClientPolicy(limits=_LIMITS)

    # Preflight

    def survey(self, pool: ClientPool, tier: Tier) -> Survey:
        task = self.make_task(tier)
        offers: dict[str, RecordsOffer] = pool.send(OfferRecords(task))
        least = self.study.sampling.min_clients
        absent = ", ".join(sorted(set(pool.named) - set(offers)))
        if (absent or len(offers) < least) and not pool.needs_everyone:
            who = f"; every client is needed, but {absent} cannot take part" if absent else ""
            raise TooFewClients(
                f"{len(offers)} clients can take part, but {least} are needed{who}", pool.reasons()
            )
        problems = [problem for offer in offers.values() for problem in offer.problems]
        problems += _check_all(task, offers)
        counts = {client: offer.counts for client, offer in offers.items()}
        columns = tuple(column for offer in offers.values() for column in offer.columns)
        return Survey(columns, counts, tuple(problems), offers=offers)

    def make_task(self, tier: Tier) -> ColumnTask:
        """What every owner is asked to do with its columns."""
        data = self.study.data
        scaling = data.scaling or ("min-max" if tier.sums_only else "standard")
        return ColumnTask(self.study.features, scaling, data.missing)

    # Alignment

    def prepare(self, pool: ClientPool, survey: Survey, tier: Tier, journal: Journal) -> _Prepared:
        """Find the shared records, and have every client find its rows of them.

        This step is repeated when a run resumes, because clients that were restarted must align
        again. The records and values must not have changed.
        """
        task, offers = self.make_task(tier), survey.offers
        _check_comparable(pool, task)
        tokens = _AllOf(pool.over(RecordTokens(task), Schema(2)), tuple(offers))
        done = run(Plan(RecordAlignment()), tokens, Schema(2))
        journal.add_run(Phase.ALIGNING, done)
        shared: Array = done.model
        check_overlap(len(shared), {c: o.records for c, o in offers.items()}, MIN_OVERLAP)
        aligned: dict[str, Alignment] = pool.send(AlignRecords(task, shared))
        _need_everyone(pool, offers, aligned, "aligned its rows")
        self._check_unchanged(journal, shared, offers, aligned)
        schema = _schema(offers, len(shared), tier)
        algorithm = make_columns_algorithm(self.study.clustering)
        if schema.records() < algorithm.n_clusters:
            raise DataError(
                f"{schema.records()} shared records are too few for n_clusters = "
                f"{algorithm.n_clusters}; choose fewer clusters"
            )
        form = SharedRecords(task, digest_of(shared))
        channel = tier.channel(_AllOf(pool.over(form, schema), tuple(offers)))
        if silent := sorted(set(offers) - set(channel.clients())):
            raise TooFewClients(f"every client is needed, but no key came from {', '.join(silent)}")
        return _Prepared(channel, schema, form, offers)

    def _check_unchanged(
        self,
        journal: Journal,
        shared: Array,
        offers: Mapping[str, RecordsOffer],
        aligned: Mapping[str, Alignment],
    ) -> None:
        lines = [hashlib.sha256(shared.tobytes()).hexdigest()]
        lines += [f"{c} {offers[c].width} {aligned[c].fingerprint}" for c in sorted(aligned)]
        changed = "clients, their records or values have changed"
        journal.check_unchanged("records.txt", "\n".join(lines), changed)

    # Clusters

    def cluster(self, prepared: _Prepared, tier: Tier, journal: Journal) -> Clustered:
        settings = self.study.clustering
        requested = make_columns_algorithm(settings)
        found = cluster_columns(
            requested,
            prepared.channel,
            prepared.schema,
            init=settings.init,
            n_init=settings.n_init,
            seed=settings.seed,
            transforms=tier.transforms(requested, prepared.schema),
            runner=journal.runner(Phase.CLUSTERING),
        )
        return Clustered(requested, found)

    # Results

    def describe(
        self,
        pool: ClientPool,
        prepared: _Prepared,
        clustered: Clustered,
        tier: Tier,
        journal: Journal,
        match: Model | None,
    ) -> Described:
        found: ColumnClustering = clustered.found
        end = FinalAssignment.of(self.study.path.stem, found.algorithm, found.last)
        offered = {c: offer.records for c, offer in sorted(prepared.offers.items())}
        used = dict.fromkeys(offered, len(end.labels))
        rounds = dict.fromkeys(offered, len(found.history))  # every round needs every client
        minimum = self.study.privacy.min_count
        profile = RunProfile(
            minimum=minimum,
            coverage="all",  # the server has every record's label
            clients=describe_clients(offered, used, rounds, "not at all clients"),
            clusters=tuple(
                ClusterProfile(
                    id=c,
                    size=size,
                    by_client={},  # every client has every record
                    features=(),
                    entropy=_entropy(end, c) if size >= minimum else None,
                )
                for c, size in enumerate(end.sizes)
            ),
            map=None,
            quality=(
                QualityRecord(
                    index=inertia.name, value=found.inertia, pooled=None, better=inertia.better
                ),
            ),
            phases=summarize_phases(journal.records),
            withheld=None,
            rounded=False,
        )
        return Described((end, prepared), profile, len(end.labels))

    def complete(self, described: Described, about: Any) -> ColumnsModel:
        end, prepared = described.model
        widths = {c: offer.width for c, offer in sorted(prepared.offers.items())}
        key, n_records = end.algorithm.key, prepared.schema.records()
        return ColumnsModel(key, end.sizes, widths, n_records, about)

    def deliver(
        self, pool: ClientPool, prepared: _Prepared, described: Described
    ) -> Mapping[str, Written]:
        end: FinalAssignment = described.model[0]
        labels = self.study.outputs.labels != "none"
        request = FinishColumns(prepared.form, end.algorithm, end.last, labels)
        written = pool.send(request)
        _need_everyone(pool, prepared.offers, written, "wrote its labels")
        return written

    def count_offered(self, survey: Survey) -> dict[str, int | None]:
        return {client: offer.records for client, offer in survey.offers.items()}

    # Across machines

    def notices(self, tier: Tier) -> list[str]:
        guarantee = tier.guarantee
        return [f"Privacy, {guarantee.tier}: {guarantee.words}"]

    def describe_absent(self, connected: Collection[str]) -> str:
        absent = ", ".join(sorted(set(self.study.clients) - set(connected)))
        return f"; every client is needed, but {absent} did not connect" if absent else ""


class _AllOf(Wrapper):
    """A channel to exactly these clients; none may be skipped."""

    def __init__(self, channel: Channel, names: tuple[str, ...]) -> None:
        super().__init__(channel)
        self._names = names

    def clients(self) -> tuple[str, ...]:
        return self._names

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        return iter(self.channel.ask(plan, request))

    @property
    def quorum(self) -> int:
        return len(self._names)


def _need_everyone(
    pool: ClientPool, offers: Mapping[str, Any], replies: Mapping[str, Any], what: str
) -> None:
    if silent := sorted(set(offers) - set(replies)):
        raise TooFewClients(
            f"every client is needed, but {', '.join(silent)} did not confirm that it {what}",
            pool.reasons(),
        )


def _check_comparable(pool: ClientPool, task: ColumnTask) -> None:
    """In one process ids can be compared before they are hashed, which gives a better error."""
    if isinstance(pool, LocalPool):
        check_comparable({name: s.columns.ids(task) for name, s in pool.sessions.items()})


def _check_all(task: ColumnTask, offers: Mapping[str, RecordsOffer]) -> Iterator[Problem]:
    """Find columns that two clients have, and features that no client has."""
    if any(offer.counts is not None for offer in offers.values()):
        yield from _check_names(task, offers)
        return
    # Across machines names stay with the clients, but counts must add up.
    width = sum(offer.width for offer in offers.values())
    listed = sum(len(column.encoded_names) for column in task.columns or ())
    if task.columns is not None and width != listed:
        what = "some have no client" if width < listed else "some have two clients"
        detail = f"the study lists {listed} columns, clients have {width}: {what}"
        yield Problem(ALL, "columns-mismatch", detail=detail)


def _check_names(task: ColumnTask, offers: Mapping[str, RecordsOffer]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for client, offer in offers.items():
        for column in offer.columns:
            other = first.setdefault(column.name, client)
            if other != client:
                detail = f"client {other!r} also has it; rename or drop one of them"
                yield Problem(client, "two-owners", column.name, detail)
    unreadable = any(offer.counts is None for offer in offers.values())
    for column in task.columns or ():
        if column.name not in first and not unreadable:
            yield Problem(ALL, "no-owner", column.name)


def _schema(offers: Mapping[str, RecordsOffer], n_records: int, tier: Tier) -> Schema:
    """Where sums are masked, columns are scaled to 0..1, so no distance exceeds F."""
    F = sum(offer.width for offer in offers.values())
    if not tier.sums_only:
        return Schema(F, n_records=n_records)
    return Schema(F, low=np.zeros(F), high=np.ones(F), n_records=n_records)


def _entropy(end: FinalAssignment, number: int) -> float | None:
    """Mean entropy of the memberships of a cluster's records, from 0 to 1; None for k-means."""
    shares, k = end.memberships, len(end.order)
    mine = end.labels == number
    if shares is None or k == 1 or not mine.any():
        return None
    u = shares[mine]
    logs = np.log(np.where(u > 0, u, 1.0))
    return float(np.clip(-(u * logs).sum(axis=1).mean() / np.log(k), 0.0, 1.0))
