"""A fitted estimator as the files of a run, so that it has a report and pictures."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..channels import LocalChannel
from ..clustering.model import Model
from ..clustering.preparation import Column, Preparation
from ..clustering.summary import publish
from ..core import AnyAlgorithm, ConfigError, DataError, config
from ..core.files import write_text
from ..estimators import FederatedFuzzyCMeans, FederatedKMeans
from ..estimators._rows import Rows, read_rows
from ..estimators._tables import collect, column_names
from ..report import RunFiles, render
from ..results import PhaseRecord, RoundRecord, RunDescription, RunProfile
from ..tiers import Tier, tier_of
from ..typing import FloatArray
from .cluster_statistics import ClusterQueries, sum_clusters
from .describe_clusters import (
    describe_clusters,
    describe_missing,
    measure_quality,
    warn_of_small_clusters,
)
from .describe_run import (
    TierEffect,
    describe_clients,
    describe_privacy,
    find_versions,
    summarize_phases,
)
from .journal import Journal, describe_message
from .phases import Phase
from .precision import EXACT, Precision


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The part of a clustering that descriptions need."""

    algorithm: AnyAlgorithm
    centers: FloatArray
    density: None = None  # rows belong to the nearest centre,
    fit: None = None  # so there is no likelihood


def write_report(
    estimator: Any,
    X: Any,
    path: str | Path = "report.html",
    *,
    clients: Any = None,
    title: str = "Clusters",
    min_count: int = 5,
) -> Path:
    """Write the report of a fitted estimator, as of a study, into one HTML file.

    Sizes, profiles and the map are computed from the rows of all clients in further rounds, under
    the tier of the estimator. Columns are reported in the units of X.

    Parameters
    ----------
    estimator : FederatedKMeans or FederatedFuzzyCMeans
        A fitted estimator.
    X, clients
        The rows of its fit, as in `fit`.
    path : path, default="report.html"
        The file to write; one that exists is replaced.
    title : str, default="Clusters"
        The title of the report.
    min_count : int, default=5
        Least number of rows behind a count or a mean in the report.

    Returns
    -------
    path : Path

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fedclust import FederatedKMeans, write_report
    >>> rows = np.random.default_rng(0).normal(np.repeat([[0, 5], [9, 1]], 40, axis=0))
    >>> tables = {"north": rows[::2], "south": rows[1::2]}
    >>> model = FederatedKMeans(2, random_state=0).fit(tables)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, tables, f"{folder}/clusters.html", title="Two groups")
    ...     "<h1>Two groups</h1>" in page.read_text()
    True
    """
    run = describe_fit(estimator, X, clients=clients, title=title, min_count=min_count)
    write_text(Path(path), render(run))
    return Path(path)


def describe_fit(
    estimator: Any, X: Any, *, clients: Any = None, title: str = "Clusters", min_count: int = 5
) -> RunFiles:
    """What the files of a run would say of a fitted estimator and the rows of its fit."""
    if not isinstance(estimator, FederatedKMeans | FederatedFuzzyCMeans):
        raise ConfigError(
            f"{type(estimator).__name__} cannot be described: only FederatedKMeans and "
            "FederatedFuzzyCMeans have centres that all parties know"
        )
    check_is_fitted(estimator)
    rows = _read(estimator, X, clients)
    tier, journal = tier_of(estimator.privacy), Journal(None)
    used: dict[str, int | None] = {name: len(data) for name, data in rows.by_client.items()}
    queries = ClusterQueries(
        tier.channel(LocalChannel(rows.by_client)),
        estimator._schema(tier),
        tier,
        journal.runner(Phase.DESCRIBING),
        min_count,
        used,
    )
    model, profile = _describe(estimator, queries, journal)
    about = _describe_run(estimator, model, tier, journal, title, min_count)
    history = tuple(RoundRecord(**line) for line in estimator.history_)
    study = f"[study]\ntitle = {json.dumps(title)}\n"
    choice = getattr(estimator, "choice_", None)
    digits = EXACT if tier.publishes_all else Precision(min_count, sum(n or 0 for n in model.sizes))
    summary = choice.summary if choice else None
    return RunFiles(
        model,
        about,
        history,
        profile,
        digits.round_choice(choice.summarize()) if choice else None,
        study,
        publish(summary, digits.few, model.preparation) if summary else None,
    )


def _read(estimator: Any, X: Any, clients: Any) -> Rows:
    """The rows of each client, checked against those of the fit."""
    X, owner = collect(X), getattr(estimator, "_owner_column", None)
    if clients is None and owner in (column_names(X) or ()):
        clients = owner
    reader = clone(estimator)
    rows = read_rows(reader, X, clients, None)
    if reader.n_features_in_ != estimator.n_features_in_:
        raise DataError(
            f"X has {reader.n_features_in_} features, the fit had {estimator.n_features_in_}; pass "
            "the rows of the fit"
        )
    given, fitted = (getattr(one, "feature_names_in_", None) for one in (reader, estimator))
    if given is None or fitted is None or list(given) == list(fitted):
        return rows
    if set(given) != set(fitted):
        raise DataError(
            f"X has the columns {', '.join(given)}, the fit had {', '.join(fitted)}; pass the rows "
            "of the fit"
        )
    return rows.take_columns([list(given).index(name) for name in fitted])


def _describe(
    estimator: Any, queries: ClusterQueries, journal: Journal
) -> tuple[Model, RunProfile]:
    """The model and the profile, from queries about the centres."""
    algorithm, centers = estimator.algorithm_, estimator.cluster_centers_
    found: Any = _Fitted(algorithm, centers)
    totals = sum_clusters(found, queries)
    F = estimator.n_features_in_
    names = getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(F)])
    preparation = Preparation(
        tuple(Column(str(name)) for name in names),
        np.zeros(F),
        np.ones(F),
        None,
        partial=queries.schema.missing,
    )
    model = Model(
        centers=centers,
        ids=tuple(range(len(centers))),
        sizes=totals.sizes,
        preparation=preparation,
        algorithm=algorithm.key,
        fuzzifier=algorithm.parameter("fuzzifier") if algorithm.soft else None,
    )
    description = describe_clusters(model, totals, queries)
    n = float(totals.sums.size.sum())
    digits = EXACT if queries.tier.publishes_all else Precision(queries.min_count, n)
    counts = dict.fromkeys(queries.used) if queries.tier.sums_only else queries.used
    rounds = dict.fromkeys(queries.used, estimator.n_rounds_)
    profile = RunProfile(
        minimum=queries.min_count,
        coverage=totals.coverage,
        clusters=description.clusters,
        map=description.map,
        quality=measure_quality(found, None, queries, digits),
        withheld=description.withheld,
        agreement=description.agreement,
        missing=describe_missing(model, queries),
        rounded=description.rounded,
        clients=describe_clients(counts, counts, rounds, ""),
        phases=(_fit_phase(estimator), *summarize_phases(journal.records)),
    )
    return model, profile


def _fit_phase(estimator: Any) -> PhaseRecord:
    """What clients sent in the fit itself."""
    return PhaseRecord(
        name="start, clustering and score",
        rounds=estimator.n_start_rounds_ + estimator.n_rounds_ + (not np.isnan(estimator.inertia_)),
        message=describe_message(estimator.algorithm_),
        bytes_up=dict(estimator.bytes_sent_),
    )


def _describe_run(
    estimator: Any, model: Model, tier: Tier, journal: Journal, title: str, min_count: int
) -> RunDescription:
    algorithm = estimator.algorithm_
    settings = {n: v for n, v in config(algorithm).items() if n not in ("algorithm", "init")}
    sent = dict(estimator.bytes_sent_)
    for record in journal.records:
        for client, size in record.sent.items():
            sent[client] = sent.get(client, 0) + size
    most = tier.most_rounds(algorithm)
    return RunDescription(
        fedclust=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        study=title,
        settings=settings | {"init": str(estimator.init), "n_init": estimator.n_init},
        lossless=algorithm.lossless and tier.guarantee.exact,
        soft=algorithm.soft,
        inertia=None if np.isnan(estimator.inertia_) else estimator.inertia_,
        rounds=estimator.n_rounds_,
        converged=estimator.converged_,
        ended_by_tier=most is not None and estimator.n_rounds_ >= most,
        caveat=warn_of_small_clusters(model, min_count, publishes_all=tier.publishes_all),
        privacy=describe_privacy(tier, journal.records, TierEffect()),
        seed=estimator.random_state if isinstance(estimator.random_state, int) else None,
        matched_run=None,
        versions=find_versions(),
        bytes_sent=sent,
    )
