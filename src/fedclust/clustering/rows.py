"""Cluster split rows: seed, cluster and score, as plans over one channel."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..algorithms import SEEDINGS, make_seeding
from ..algorithms.cell_seeding import CellSeeding
from ..algorithms.micro_clusters import MicroSeeding
from ..algorithms.mixture_fit import Fit
from ..algorithms.seeding import UniformSeeding
from ..core import (
    ALL_CLIENTS,
    Algorithm,
    AnyAlgorithm,
    Channel,
    ClientSampling,
    ConfigError,
    EmptyRound,
    Plan,
    RoundSummary,
    Run,
    Runner,
    Schema,
    derive_seed,
    did_you_mean,
    run,
)
from ..core.channel import Wrapper
from ..kernels import Density
from ..metrics import Evaluation
from ..tiers import Guarantee, Privacy, Tier, tier_of
from ..typing import BoolArray, FloatArray
from .starts import StartSearch

AUTO = ("auto", "k-means++")  # scikit-learn's word for the same
SUMMARY = "summary"  # centres that are found in a summary of all rows
OTHER_STARTS = (*AUTO, "cells", SUMMARY)  # names of initialisations besides those of seedings
SCORING = "scoring"  # purpose of plans that evaluate centres
# Queries beside the summary and the clustering: preflight, scale, score, description and labels.
BESIDE = 9
Init = str | FloatArray | AnyAlgorithm


@dataclass(frozen=True, eq=False)
class Clustering:
    """The best of several runs, and the costs of all."""

    algorithm: AnyAlgorithm  # with its initial centres
    run: Run
    inertia: float  # pooled, from a federated run; NaN if that would spend privacy budget
    sent: Mapping[str, int]  # bytes by client, over seeding, clustering and scoring
    guarantee: Guarantee  # of the privacy tier
    start_rounds: int = 0  # rounds for the initial centres of this run
    fit: Fit | None = None  # of a mixture

    @property
    def centers(self) -> FloatArray:
        """Final centres."""
        return cast(FloatArray, self.run.model)

    @property
    def loss(self) -> float:
        """What the best of several starts has least of."""
        return self.inertia if self.fit is None else -self.fit.loglik

    @property
    def density(self) -> Density | None:
        """The densities of a mixture's clusters; None: rows belong to the nearest centre."""
        return getattr(self.run.state, "density", None)

    @property
    def history(self) -> tuple[RoundSummary, ...]:
        """The rounds of the best run."""
        return self.run.history

    @property
    def reliable(self) -> BoolArray:
        """Whether each cluster has enough rows for the noise, if there is any."""
        sure: Any = getattr(self.run.state, "sure", None)  # of noisy weights
        return np.ones(len(self.centers), dtype=bool) if sure is None else np.asarray(sure != 0)

    @property
    def caveat(self) -> str:
        """A limitation of the result, such as noise; usually empty."""
        lost, n = int((~self.reliable).sum()), len(self.reliable)
        if lost == 0:
            return ""
        which, centres = f"{lost} of {n} clusters have", "their centres are"
        if lost == 1:
            which, centres = "1 cluster has", "its centre is"
        elif lost == n:
            which = "all clusters have"
        return (
            f"{which} too few rows for the noise, so {centres} unreliable; use more rows, fewer "
            "clusters or a larger epsilon (see fedclust budget)"
        )

    @property
    def converged(self) -> bool:
        """Whether the run ended because the centres converged, not at the limit of rounds."""
        if not self.algorithm.has_parameter("max_rounds"):
            return True
        longer = replace(cast(Any, self.algorithm), max_rounds=self.run.n_rounds + 1)
        return bool(longer.done(self.run.state))


def cluster(
    algorithm: AnyAlgorithm,
    channel: Channel,
    schema: Schema,
    *,
    init: Init = "auto",
    n_init: int = 1,
    privacy: Privacy = "none",
    sampling: ClientSampling = ALL_CLIENTS,
    seed: int = 0,
    runner: Runner = run,
) -> Clustering:
    """Seed and run `n_init` times, and keep the lowest pooled inertia (DWF's RequestScore).

    Seeding samples clients like any round. Scoring uses all clients, so that scores are
    comparable.
    """
    tier = tier_of(privacy)
    _check_n_init(n_init, tier)
    all_clients = ClientSampling(min_clients=sampling.min_clients)
    channel = tier.channel(channel)
    clusterings: list[Clustering] = []
    sent: dict[str, int] = {}
    for attempt in range(n_init):
        ready, seeding = run_seeding(
            algorithm,
            channel,
            schema,
            init=init,
            privacy=tier,
            sampling=sampling,
            seed=derive_seed(seed, "seeding", attempt),
            runner=runner,
        )
        plan = tier.plan(ready, channel, schema, derive_seed(seed, "clustering", attempt))
        done = runner(plan, channel, schema, sampling=sampling)
        scores = []
        if not tier.noisy:
            scoring = _scoring_plan(done, channel, schema, tier)
            scores = [runner(scoring, channel, schema, sampling=all_clients)]
        for part in (*seeding, done, *scores):
            for client, size in part.sent.items():
                sent[client] = sent.get(client, 0) + size
        found = scores[0].model if scores else float("nan")
        fit = found if isinstance(found, Fit) else None
        inertia = found if fit is None else fit.inertia
        before = sum(part.n_rounds for part in seeding)
        clusterings.append(Clustering(ready, done, inertia, sent, tier.guarantee, before, fit))
    return min(clusterings, key=lambda clustering: clustering.loss)


def _check_n_init(n_init: int, tier: Tier) -> None:
    if n_init < 1:
        raise ConfigError(f"n_init must be at least 1, got {n_init}")
    if tier.noisy and n_init > 1:
        raise ConfigError(
            f"n_init must be 1 with privacy={tier.name!r}, got {n_init}; every further start "
            "would spend privacy budget"
        )


def _scoring_plan(done: Run, channel: Channel, schema: Schema, tier: Tier) -> Plan:
    """Plan for the pooled inertia of the centres of a run, or for the fit of a mixture."""
    query = done.algorithm.scoring(done.state) or Evaluation(len(done.model), done.model)
    plan = tier.plan(query, channel, schema)
    return replace(plan, purpose=SCORING)


def run_seeding(
    algorithm: AnyAlgorithm,
    channel: Channel,
    schema: Schema,
    *,
    init: Init = "auto",
    privacy: Privacy = "none",
    sampling: ClientSampling = ALL_CLIENTS,
    seed: int = 0,
    runner: Runner = run,
) -> tuple[AnyAlgorithm, list[Run]]:
    """Return the algorithm with its initial centres, and the runs that computed them."""
    tier, n_clients = tier_of(privacy), len(tuple(channel.clients()))
    auto = isinstance(init, str) and init == "auto"
    algorithm = tier.adapt(
        algorithm.over_cells() if schema.missing else algorithm, schema, n_clients
    )
    if not algorithm.has_parameter("init"):
        if not auto:
            raise ConfigError(f"{algorithm.key} takes no initial centres; leave init='auto'")
        return algorithm, []
    if auto and algorithm.parameter("init") is not None:
        return algorithm, []
    if isinstance(init, str) and init == SUMMARY:
        return _start_from_summary(algorithm, channel, schema, tier, runner)
    return _seed(algorithm, channel, schema, init, tier, sampling, seed, runner)


def _seed(
    algorithm: AnyAlgorithm,
    channel: Channel,
    schema: Schema,
    init: Init,
    tier: Tier,
    sampling: ClientSampling,
    seed: int,
    runner: Runner,
) -> tuple[AnyAlgorithm, list[Run]]:
    """The algorithm with given centres, or with those of a seeding."""
    n_clients, named = len(tuple(channel.clients())), isinstance(init, str)
    if isinstance(init, str):
        init = _select_seeding(init, algorithm, schema, tier, n_clients)
    if not isinstance(init, Algorithm):
        return _with_init(algorithm, as_centers(init)), []

    def run_plan(part: AnyAlgorithm, seed: int) -> Run:
        # Uniform seeding queries no client.
        free = isinstance(part, UniformSeeding)
        plan = Plan(part, seed=seed) if free else tier.plan(part, channel, schema, seed)
        return _run_seeding_plan(plan, channel, schema, sampling, runner)

    if named and isinstance(init, MicroSeeding):
        search = StartSearch(algorithm, init, n_clients, run_plan, seed, schema)
        return _with_init(algorithm, search.find(tier)), search.runs
    done = run_plan(init, seed)
    return _with_init(algorithm, done.model), [done]


def _start_from_summary(
    algorithm: AnyAlgorithm, channel: Channel, schema: Schema, tier: Tier, runner: Runner
) -> tuple[AnyAlgorithm, list[Run]]:
    """The best centres in a summary of all rows, which no seed changes."""
    from .summary import SummaryRun, count_micro, find_centers  # which other starts do not need

    if tier.noisy:
        raise ConfigError(
            f"init={SUMMARY!r} takes exact sums, and privacy={tier.name!r} adds noise; leave "
            "init='auto', or n_clusters='auto', which pays for one noisy summary"
        )
    runs: list[Run] = []

    def keep(*args: Any, **settings: Any) -> Run:
        runs.append(runner(*args, **settings))
        return runs[-1]

    k = algorithm.n_clusters
    summary = SummaryRun(tier.channel(channel), schema, tier, keep).learn(count_micro(k))
    if len(summary) < k:
        raise ConfigError(
            f"init={SUMMARY!r}: the rows make {len(summary)} small groups, too few for n_clusters="
            f"{k}; use fewer clusters, or init='auto'"
        )
    algorithm = leave_room(algorithm, tier, summary.queries)
    fuzzifier = algorithm.parameter("fuzzifier") if algorithm.soft else None
    return _with_init(algorithm, find_centers(summary, k, fuzzifier)), runs


def leave_room(algorithm: AnyAlgorithm, tier: Tier, before: int) -> AnyAlgorithm:
    """The algorithm with as many rounds as a limit of queries leaves after those `before`."""
    longest = algorithm.parameter("max_rounds")
    if tier.query_limit is None or longest is None:
        return algorithm
    most = max(1, tier.query_limit - before - BESIDE)
    return cast(AnyAlgorithm, replace(cast(Any, algorithm), max_rounds=min(longest, most)))


def _select_seeding(
    init: str, algorithm: AnyAlgorithm, schema: Schema, tier: Tier, n_clients: int
) -> AnyAlgorithm:
    """The seeding of a name; the default depends on the tier, then on the algorithm."""
    names = (*OTHER_STARTS, *SEEDINGS)
    if init not in names:
        near = "; did you mean 'client'?" if "random" in init else did_you_mean(init, names)
        raise ConfigError(f"init={init!r} is not one of {', '.join(names)}{near}")
    if init in (*OTHER_STARTS, algorithm.seeding):
        seeding = tier.seeding(algorithm, schema, n_clients)
        if seeding is not None or init == "cells":
            return seeding or CellSeeding(algorithm.n_clusters, *schema.box())
        init = str(algorithm.seeding)
    return make_seeding(init, algorithm.n_clusters)


def as_centers(init: Any) -> FloatArray:
    """Convert initial centres to an array."""
    try:
        return np.asarray(init, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError(
            "init must be 'auto', the name of a seeding, a seeding from make_seeding, or an array "
            f"of centres; got {type(init).__name__}"
        ) from None


def _with_init(algorithm: AnyAlgorithm, centers: FloatArray) -> AnyAlgorithm:
    return cast(AnyAlgorithm, replace(cast(Any, algorithm), init=centers))


def _run_seeding_plan(
    plan: Plan, channel: Channel, schema: Schema, sampling: ClientSampling, runner: Runner
) -> Run:
    """Run a seeding; a seeding by one client tries further clients if the first has no seeds."""
    plan = replace(plan, purpose="start")
    clients = sorted(channel.clients())
    attempts: list[tuple[Channel, ClientSampling]] = [(channel, sampling)]
    if plan.algorithm.traits.one_client:
        order = plan.rng("order", 0).permutation(len(clients))
        attempts = [(_SingleClient(channel, clients[i]), ALL_CLIENTS) for i in order]
    for target, clients_sampled in attempts:
        try:
            return runner(plan, target, schema, sampling=clients_sampled)
        except EmptyRound:
            continue
    raise EmptyRound(
        f"init={plan.algorithm.key!r}: no client has enough rows to compute initial centres "
        "without disclosing a row; give bounds and init='uniform', or an array of centres"
    )


class _SingleClient(Wrapper):
    """A channel restricted to one client."""

    def __init__(self, channel: Channel, client: str) -> None:
        super().__init__(channel)
        self._client = client

    def clients(self) -> tuple[str, ...]:
        return (self._client,)
