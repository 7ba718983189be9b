"""Split rows: every client has some of the rows, with the same columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...client.files import RowCounts
from ...client.problems import ALL, Problem
from ...client.requests import (
    Preflight,
    PreflightReport,
    PreparedRows,
    WriteLabels,
    Written,
)
from ...clustering.auto import choose_noisy, limit_rounds, needs_summary, start_of
from ...clustering.model import ColumnsModel, Model
from ...clustering.numbering import sort_by_size
from ...clustering.preparation import Column, ColumnRange, Preparation, declared
from ...clustering.rows import AUTO, Clustering, cluster
from ...core import (
    AnyAlgorithm,
    Channel,
    ClientSampling,
    Code,
    ConfigError,
    DataError,
    Reason,
    Schema,
    TooFewClients,
)
from ...results import RunDescription, RunProfile
from ...tiers import Tier
from ...typing import FloatArray, IntArray
from ..choosing import choose_in_range
from ..cluster_statistics import ClusterQueries, ClusterTotals, sum_clusters
from ..conflicts import count_ranges, find_row_conflicts, find_unprotected_rows
from ..describe_clusters import (
    describe_bounds,
    describe_clusters,
    describe_missing,
    mark_unreliable,
    measure_quality,
    warn_of_small_clusters,
)
from ..describe_run import TierEffect, describe_clients, summarize_phases
from ..identity import match_ids
from ..journal import Journal
from ..phases import Phase
from ..pool import ClientPool
from ..pooled import cluster_pooled
from ..precision import EXACT, Precision, publish_density
from ..scaling import learn_scale
from ..settings import Conflict, make_algorithm
from .base import Clustered, Described, Layout, Survey, add_counts, find_absent, is_local


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Rows on one scale."""

    preparation: Preparation
    channel: Channel
    schema: Schema
    rows: Mapping[str, int | None]  # of each client, as far as that is known
    used: Mapping[str, int | None]  # those that take part
    ranges: tuple[ColumnRange, ...] = ()  # of columns whose bounds are estimated


class RowsLayout(Layout):
    """Sums over rows give centres that all clients may know."""

    split: ClassVar[str] = "rows"

    def find_conflicts(self) -> Iterator[Conflict]:
        return find_row_conflicts(self.study)

    def find_unprotected(self, tier: Tier) -> Iterator[Conflict]:
        return find_unprotected_rows(tier, self.study)

    def adapt_tier(self, tier: Tier) -> Tier:
        return tier

    # Preflight

    def survey(self, pool: ClientPool, tier: Tier) -> Survey:
        study, problems = self.study, []
        columns = study.features
        if columns is None:
            named = self._preflight(pool, None, counts=False)
            problems += [p for report in named.values() for p in report.problems]
            readable = [report.numbers for report in named.values() if not report.problems]
            columns = _shared_columns(readable)
        counts = is_local(pool) or not tier.sums_only
        reports = self._preflight(pool, columns, counts=counts) if columns else {}
        reports = self._exclude_unfit(pool, reports)
        row_counts = {c: r.counts for c, r in reports.items() if r.counts or not is_local(pool)}
        reported = [problem for report in reports.values() for problem in report.problems]
        problems = reported or problems
        problems += _find_same_files(study)
        unreadable = {problem.client for problem in problems if problem.code == "unreadable"}
        if not unreadable or set(pool.named) - unreadable:
            problems += self._check_all(columns, row_counts, tier)
        if tier.sums_only:  # results must not show what the tier hides
            row_counts = dict.fromkeys(row_counts)
        absent = find_absent(pool, row_counts)
        return Survey(columns, row_counts, tuple(problems), absent=absent)

    def _preflight(
        self, pool: ClientPool, columns: tuple[Column, ...] | None, *, counts: bool
    ) -> dict[str, PreflightReport]:
        algorithm = make_algorithm(self.study.clustering, self.study.n_clusters[0])
        needs_memory = "" if algorithm.traits.additive else f"{algorithm.key}; set batch_rows = 0"
        if self.study.data.missing == "median-of-means":
            needs_memory = "median-of-means; set batch_rows = 0"
        request = Preflight(columns, algorithm.key, counts, needs_memory, self.study.partial)
        reports: dict[str, PreflightReport] = pool.send(request)
        least = self.study.sampling.min_clients
        if len(reports) < max(least, 1) and not pool.needs_everyone:
            raise TooFewClients(
                f"{len(reports)} clients can take part, min_clients = {least}",
                pool.reasons(),
                missing=max(least, 1) - len(reports),
            )
        return reports

    def _exclude_unfit(
        self, pool: ClientPool, reports: dict[str, PreflightReport]
    ) -> dict[str, PreflightReport]:
        """Leave out clients with blocking problems, if enough others remain, and record why."""
        fit = {c: r for c, r in reports.items() if not any(p.blocking for p in r.problems)}
        if pool.needs_everyone or len(fit) < max(self.study.sampling.min_clients, 1):
            return reports  # their problems end the study
        for client in reports.keys() - fit.keys():
            problem = next(p for p in reports[client].problems if p.blocking)
            where = f"column {problem.column!r}: " if problem.column else ""
            text = f"its data do not fit: {where}{problem.public}"
            pool.exclude(client, Reason(Code.DATA, text))
        return fit

    def _check_all(
        self, columns: Sequence[Column], counts: Mapping[str, RowCounts | None], tier: Tier
    ) -> Iterator[Problem]:
        """Find problems that concern all clients together."""
        study = self.study
        if not columns:
            yield Problem(ALL, "no-shared-column")
        wanted, rows = study.n_clusters[0], [c.rows for c in counts.values() if c]
        if len(rows) < max(1, len(counts), len(study.clients)):
            return
        if sum(rows) < wanted:
            yield Problem(ALL, "too-few-rows", detail=f"{sum(rows)} rows, n_clusters = {wanted}")
        least = study.privacy.min_count
        if tier.exact and sum(rows) < least:
            yield Problem(ALL, "below-minimum", detail=f"{sum(rows)} rows, min_count = {least}")
        elif not tier.exact and max(rows) < least:  # clients withhold what stands for fewer
            yield Problem(ALL, "small-clients", detail=f"min_count = {least}")

    def check_match(self, match: Model | ColumnsModel | None, survey: Survey) -> None:
        if match is None:
            return
        if not isinstance(match, Model):
            raise ConfigError(
                "--match-run: the earlier run has no centres to compare; give a run over split rows"
            )
        if tuple(map(declared, match.preparation.columns)) != survey.columns:
            theirs, ours = (
                ", ".join(c.name for c in each)
                for each in (match.preparation.columns, survey.columns)
            )
            raise ConfigError(
                f"--match-run: the earlier run has the columns {theirs}, this one {ours}, or other "
                "bounds or categories; clusters can be matched only over the same columns"
            )

    # Scale

    def prepare(self, pool: ClientPool, survey: Survey, tier: Tier, journal: Journal) -> _Prepared:
        runner = journal.runner(Phase.SCALING)
        study = self.study
        preparation, ranges = learn_scale(study, pool, survey.columns, tier, runner)
        used = {c: counts and counts.used(preparation) for c, counts in survey.counts.items()}
        wanted, total = study.n_clusters[0], add_counts(used.values())
        if total is not None and total < wanted:
            raise DataError(
                f"{total} rows without missing values are too few for n_clusters = {wanted}; "
                'choose fewer clusters, or missing = "mean"'
            )
        form = PreparedRows(preparation)
        enrolled = {client: n for client, n in used.items() if n is not None}
        rows = pool.checked(pool.over(form, form.schema), form.schema, enrolled)
        channel = tier.channel(rows)  # keys are exchanged once, for all queries
        return _Prepared(preparation, channel, form.schema, survey.rows, used, ranges)

    # Clusters

    def cluster(self, prepared: _Prepared, tier: Tier, journal: Journal) -> Clustered:
        """Choose the number of clusters if it is "auto", and find the clusters."""
        study, settings = self.study, self.study.clustering
        common: dict[str, Any] = {
            "init": settings.init,
            "privacy": tier,
            "sampling": ClientSampling(study.sampling.fraction, study.sampling.min_clients),
            "seed": settings.seed,
        }
        n_clusters, choice = study.n_clusters[0], None
        if settings.n_clusters == "auto" and tier.noisy:
            return self._cluster_noisy(prepared, tier, journal)
        if settings.n_clusters == "auto":
            runner, n_rows = journal.runner(Phase.CHOOSING), add_counts(prepared.used.values())
            rows = prepared.channel, prepared.schema
            choice = choose_in_range(study, *rows, n_rows, runner, common)
            n_clusters = choice.recommended
        requested = limited = make_algorithm(settings, n_clusters)
        if choice is not None:
            common["init"] = start_of(choice, requested, settings.init)
            limited = limit_rounds(choice, requested, tier, count_ranges(study))
        found = cluster(
            limited,
            prepared.channel,
            prepared.schema,
            n_init=settings.n_init,
            runner=journal.runner(Phase.CLUSTERING),
            **common,
        )
        return Clustered(requested, found, choice)

    def _cluster_noisy(self, prepared: _Prepared, tier: Tier, journal: Journal) -> Clustered:
        """Choose the number of clusters and find them in a summary that noise is paid for once."""
        study = self.study
        low, high = study.n_clusters
        found, choice = choose_noisy(
            make_algorithm(study.clustering, high),
            prepared.channel,
            prepared.schema,
            range(low, high + 1),
            tier=tier,
            sampling=ClientSampling(study.sampling.fraction, study.sampling.min_clients),
            seed=study.clustering.seed,
            runner=journal.runner(Phase.CLUSTERING),
        )
        requested = make_algorithm(study.clustering, choice.recommended)
        return Clustered(requested, found, choice)

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
        found: Clustering = clustered.found
        runner, min_count = journal.runner(Phase.DESCRIBING), self.study.privacy.min_count
        used = prepared.used
        queries = ClusterQueries(prepared.channel, prepared.schema, tier, runner, min_count, used)
        totals = sum_clusters(found, queries)
        model, order = self._number(found, prepared.preparation, totals, match)
        description = describe_clusters(model, totals.reorder(order), queries)
        clusters = mark_unreliable(description.clusters, found.reliable[order])
        pooled = cluster_pooled(
            found, prepared.channel, prepared.schema, tier, journal, compares=pool.compares
        )
        best = next(run for run in journal.records if run.sent is found.run.sent)
        why = "no value in any feature" if self.study.partial else "a missing value in a feature"
        n = float(totals.sums.size.sum())
        digits = EXACT if tier.publishes_all else Precision(min_count, n)
        profile = RunProfile(
            minimum=min_count,
            coverage=totals.coverage,
            clusters=clusters,
            map=description.map,
            quality=measure_quality(found, pooled, queries, digits),
            withheld=description.withheld,
            agreement=description.agreement,
            missing=describe_missing(model, queries),
            estimated=describe_bounds(prepared.ranges, tier, min_count),
            rounded=description.rounded,
            clients=describe_clients(prepared.rows, used, best.client_rounds, why),
            phases=summarize_phases(journal.records),
        )
        caveat = warn_of_small_clusters(model, min_count, publishes_all=tier.publishes_all)
        n_used, centers = add_counts(used.values()), description.centers
        return Described(model, profile, n_used, caveat, centers, digits)

    def _number(
        self,
        found: Clustering,
        preparation: Preparation,
        totals: ClusterTotals,
        match: Model | None,
    ) -> tuple[Model, IntArray]:
        """The clusters in the order of their numbers: by size, or as an earlier run had them."""
        order = sort_by_size(totals.sums.size.astype(int), found.centers)
        ids = list(range(len(order)))
        if match is not None:
            ids = _match_ids(match, preparation, found.centers[order])
            order, ids = order[np.argsort(ids)], sorted(ids)
        fuzzifier = found.algorithm.parameter("fuzzifier") if found.algorithm.soft else None
        model = Model(
            centers=found.centers[order],
            ids=tuple(ids),
            sizes=totals.reorder(order).sizes,
            preparation=preparation,
            algorithm=found.algorithm.key,
            fuzzifier=fuzzifier,
            reading=self.study.data.reading,
            id_column=self.study.data.id,
            density=None if found.density is None else found.density.pack()[order],
        )
        return model, order

    def find_effect(self, prepared: _Prepared, requested: AnyAlgorithm, tier: Tier) -> TierEffect:
        found = super().find_effect(prepared, requested, tier)
        if self.study.clustering.init not in AUTO or not requested.has_parameter("init"):
            return found
        if self.study.clustering.n_clusters == "auto" and needs_summary(tier):
            return found._replace(start="summary")
        seeding = tier.seeding(requested, prepared.schema, len(prepared.used))
        other = seeding is not None and seeding.key != requested.seeding
        return found._replace(start=seeding.key) if seeding and other else found

    def complete(self, described: Described, about: RunDescription) -> Model:
        about = replace(about, inertia=described.precision.round(about.inertia))
        model: Model = replace(described.model, centers=described.centers, about=about)
        if model.density is not None and described.precision is not EXACT:
            model = replace(model, density=publish_density(model, self.study.privacy.min_count))
        return model

    def deliver(
        self, pool: ClientPool, prepared: _Prepared, described: Described
    ) -> Mapping[str, Written]:
        if self.study.outputs.labels == "none":
            return {}
        return pool.send(WriteLabels(described.model))


def _shared_columns(numbers: Sequence[Sequence[str]]) -> tuple[Column, ...]:
    """All numeric columns that every client has, in the order of the first."""
    first = numbers[0] if numbers else []
    return tuple(Column(name) for name in first if all(name in names for names in numbers))


def _find_same_files(study: Any) -> Iterator[Problem]:
    """Find files of two clients: their rows would count twice."""
    first: dict[Path, str] = {}
    for client in study.clients:
        for file in study.files(client):
            other = first.setdefault(file.resolve(), client)
            if other != client:
                detail = f"{file.name} is also a file of client {other!r}"
                yield Problem(client, "same-file", detail=detail)


def _match_ids(match: Model, preparation: Preparation, centers: FloatArray) -> list[int]:
    """Match clusters with those of an earlier run, on the scale of that run."""
    theirs = match.preparation
    moved = (centers * preparation.scale + preparation.offset - theirs.offset) / theirs.scale
    return match_ids(moved, match.centers, match.ids)
