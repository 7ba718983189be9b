"""Find initial centres: summarise the rows by small clusters, search the summary, try the best.

The summary costs a few rounds with more centres than the clustering has. The server then searches
it as often as it likes, which costs no round, and lets the best solutions race over all rows.
Where a tier limits queries, or changes sums, one round has to be enough.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.centers import CenterAlgorithm
from ..algorithms.micro_clusters import MicroClusters, MicroSeeding, Rivals, Summary
from ..core import AnyAlgorithm, Run, Schema, derive_seed, stream
from ..kernels import k_means, nearest, search_centers, search_fuzzy_centers, sq_distances
from ..metrics import Evaluation
from ..tiers import Tier
from ..typing import FloatArray, Rng
from .preparation.statistics import Moments
from .swaps import FEWEST, propose

_FEWEST_MICRO = 128  # micro-clusters, or five for each cluster if these are more
_MICRO_PER_CLUSTER = 5
_CANDIDATES_PER_MICRO = 2  # groups of rows that all clients together send for a micro-cluster
_MICRO_ROUNDS = 3
_SEARCHED = (1, 3)  # rounds of micro-clusters after which the server searches
_KICKS = 12  # of the best solution of a search
_OUTLYING = 16  # points beyond which centres are tried, in each round of micro-clusters
_BESIDE = 1e-3  # how far beside a point it is divided, in distances to the nearest other point
_DIVISIONS = 2  # of each point in a round
_HEAVIEST = 4096  # points with which lighter ones are compared
_BEYOND = (0.5, 1.0, 2.0, 4.0)  # how far beyond, in distances to the nearest heavier point
_CENTERS_OF_RIVALS = 256  # in a round of the race; this limits the number of rivals
_FEWEST_RIVALS, _MOST_RIVALS = 12, 64
_KEPT = 4  # a quarter of the rivals stays after each step
_HOPE = 1.2  # rivals whose inertia is more times the best one drop out
_SWAPS = 3  # times that swaps are looked for
_GAIN = 1e-3  # relative, of the inertia: after less, swaps are looked for no more
_MOST_CENTERS = 1_000  # of all rivals together: more than that clients refuse by default


@dataclass
class StartSearch:
    """The search for initial centres of one algorithm, and the runs that it took."""

    algorithm: AnyAlgorithm
    seeding: MicroSeeding
    n_clients: int
    run: Callable[[AnyAlgorithm, int], Run]  # a plan with this algorithm and seed
    seed: int
    schema: Schema
    runs: list[Run] = field(default_factory=list)
    means: list[Summary] = field(default_factory=list)  # of all rows, by clusters of each rival

    def find(self, tier: Tier) -> FloatArray:
        """The initial centres."""
        rng, k = stream(self.seed, "start", 0), self.algorithm.n_clusters
        is_open = _is_open(tier, self.algorithm)
        seeding = self.seeding
        if self.schema.missing:
            moments = self._run(Moments(None if tier.exact else seeding.min_count)).model
            seeding = replace(seeding, fill=moments.mean)
        if is_open:
            seeding = replace(seeding, groups=_count_groups(k, self.n_clients))
        first: Any = self._run(seeding).state
        summaries = seeding.summaries(first)
        if not is_open:
            summary, found = summaries[-1], [first.centers]
        elif self.algorithm.lossless:
            summary, found = self._summarise(summaries[-1], rng)
            found = [first.centers, *found]
        else:
            each = zip_longest(*(_search(one, k, rng) for one in summaries))
            found = [
                first.centers,
                *(start for starts in each for start in starts if start is not None),
            ]
            summary = summaries[-1]
        return self._choose(found, summary, tier, rng)

    def _summarise(self, summary: Summary, rng: Rng) -> tuple[Summary, list[FloatArray]]:
        """Small clusters of all rows, and the solutions that are found in them."""
        k, found = self.algorithm.n_clusters, list[FloatArray]()
        centers = _spread(summary, _count_micro(k), rng)
        for number in range(1, _MICRO_ROUNDS + 1):
            if number > 1:
                free = _count_micro(k) - len(centers)
                centers = np.concatenate([centers, self._inside(_beside(summary, free, rng))])
            centers = np.concatenate([centers, self._guess(summary, len(centers))])
            # A single client is the pooled case: it has nobody to hide its sums from.
            wanted = k if self.n_clients > 1 else _MOST_CENTERS
            micro = MicroClusters(len(centers), centers, max_rounds=1, wanted=wanted)
            state = self._run(micro).state
            centers, _ = summary = Summary.of(state.centers, state.weight)
            if number in _SEARCHED:
                found += _search(summary, k, rng)
        return summary, found

    def _choose(
        self, found: list[FloatArray], summary: Summary, tier: Tier, rng: Rng
    ) -> FloatArray:
        """The best of the solutions that were found, by the summary or by all rows."""
        fuzzifier = self.algorithm.parameter("fuzzifier")
        if self.algorithm.soft and fuzzifier is not None:
            fuzzy = search_fuzzy_centers(summary.points, found, fuzzifier, rng, summary.weight)[0]
            if not self._doubts(tier):
                return fuzzy
            return self._less_fuzzy(fuzzy, self._race(found).starts[0])
        if not _is_open(tier, self.algorithm):
            return found[0]
        raced = self._race(found)
        return self._improve(raced, summary) if self.algorithm.lossless else raced.starts[0]

    def _guess(self, summary: Summary, n: int) -> FloatArray:
        """Centres to try besides n others, within the public bounds and the limits of clients."""
        return self._inside(_reach_beyond(summary)[: max(0, _MOST_CENTERS - n)])

    def _inside(self, centers: FloatArray) -> FloatArray:
        """Centres within the public bounds: clients refuse others."""
        return centers if self.schema.low is None else np.clip(centers, *self.schema.box())

    def _doubts(self, tier: Tier) -> bool:
        """Whether fuzzy centres of the summary are compared with those of the race.

        Filled cells draw the summary together, so that fuzzy centres may fall on each other.
        """
        return self.schema.missing and _is_open(tier, self.algorithm)

    def _less_fuzzy(self, *starts: FloatArray) -> FloatArray:
        """The start with the lowest fuzzy objective over all rows."""
        k, m = self.algorithm.n_clusters, self.algorithm.parameter("fuzzifier")
        queries = [Evaluation(k, start, "objective", m) for start in starts]
        values = [self._run(query).model for query in queries]
        return starts[int(np.argmin(_without_noise(np.array(values))))]

    def _race(self, starts: list[FloatArray]) -> Rivals:
        """Compare all starts over all rows; the best take steps, and a quarter stays after each."""
        some = np.stack(starts[: max(2, _MOST_CENTERS // self.algorithm.n_clusters)])
        rivals = Rivals(some, np.zeros(len(some)))
        for kept, step in _plan_race(len(some), self.algorithm.n_clusters):
            done = self._compare(rivals.starts, step=step)
            if done is None:
                break
            score = _without_noise(done.score)
            rivals = _keep_best(done, min(kept, int((score <= _HOPE * score.min()).sum())))
            if len(rivals.starts) == 1:
                break
        return _keep_best(rivals, 1)

    def _improve(self, found: Rivals, summary: Summary) -> FloatArray:
        """Swap centres as long as that lowers the inertia over all rows."""
        k = self.algorithm.n_clusters
        for _ in range(_count_swaps(k)):
            if found.weight is None:
                break
            shown = self._add_means(summary)
            proposal = propose(shown, found.starts[0], found.weight[0], _count_variants(k))
            measured = self._compare(self._inside(np.stack(proposal.variants())), step=False)
            swapped = [] if measured is None else proposal.swap(measured.score)
            if measured is None or not swapped:
                break
            found = self._race_on(self._inside(np.stack([found.starts[0], *swapped])))
            if found.score[0] > measured.score[0] * (1 - _GAIN):
                break
        best: FloatArray = found.starts[0]
        return best

    def _add_means(self, summary: Summary) -> Summary:
        """The summary, with the means of all clusters of rivals.

        Each rival divides all rows in its own way, and its means are exact. Where the summary mixes
        values, some rival often keeps them apart.
        """
        parts = zip(summary, *self.means, strict=True)
        return Summary(*(np.concatenate(part) for part in parts))

    def _race_on(self, starts: FloatArray) -> Rivals:
        """Let starts take steps, and keep the best ones after each."""
        rivals = Rivals(starts, np.zeros(len(starts)))
        for kept in _plan_swaps(len(starts)):
            done = self._compare(rivals.starts, step=True)
            rivals = rivals if done is None else _keep_best(done, kept)
        return rivals

    def _compare(self, starts: FloatArray, *, step: bool) -> Rivals | None:
        """The inertia of starts over all rows; None if the algorithm has no such query."""
        if not isinstance(self.algorithm, CenterAlgorithm):
            return None
        query = self.algorithm.rival_steps(np.concatenate(starts), step=step)
        if query is None:
            return None
        done: Rivals = self._run(query).model
        if done.weight is not None:
            self.means += map(Summary.of, done.starts, done.weight)
        return done

    def _run(self, algorithm: AnyAlgorithm) -> Run:
        done = self.run(algorithm, derive_seed(self.seed, algorithm.key))
        self.runs.append(done)
        return done


def _is_open(tier: Tier, algorithm: AnyAlgorithm) -> bool:
    """Whether further queries show no more than the clustering itself, and none is missed later."""
    return tier.exact and not tier.limits_queries and algorithm.n_clusters > 1


class StartCost(NamedTuple):
    """Upper limits of what the default start costs."""

    rounds: int
    work: int  # centres that each row is compared with, over all rounds


def limit_cost(k: int) -> StartCost:
    """What the default start of a clustering costs at most."""
    starts = min(1 + len(_SEARCHED) * _count_rivals(k), max(2, _MOST_CENTERS // k))
    race = _plan_race(starts, k)
    compared = starts + sum(kept for kept, _ in race[:-1])
    n, swaps = _count_variants(k), _count_swaps(k)
    compared += swaps * (2 * n + sum(_plan_swaps(n)[:-1]))
    rounds = 1 + _MICRO_ROUNDS + len(race) + swaps * (1 + len(_plan_swaps(n)))
    micro = _count_micro(k) + _MICRO_ROUNDS * _OUTLYING * len(_BEYOND)
    return StartCost(rounds, k + _MICRO_ROUNDS * micro + k * compared)


def _count_rivals(k: int) -> int:
    """Solutions that take steps; few where each has many centres."""
    return min(_MOST_RIVALS, max(_FEWEST_RIVALS, _CENTERS_OF_RIVALS // k))


def _plan_race(n: int, k: int) -> list[tuple[int, bool]]:
    """The rounds of a race of n starts: how many stay after each, and whether they take a step.

    The first round only compares them, so that its messages are short. In the next round those that
    stay take a step. The order of their scores before it says little about where they lead, so none
    drops out unless it is much worse.
    """
    kept = min(n, _count_rivals(k))
    rounds = [(kept, False)]
    while kept > 1:
        rounds.append((kept, True))
        kept = max(1, kept // _KEPT)
    return [*rounds, (1, True)] if n > 1 else []


def _count_variants(k: int) -> int:
    """Variants of k centres that are measured at a time."""
    return min(_MOST_RIVALS, _MOST_CENTERS // k)


def _count_swaps(k: int) -> int:
    """How often swaps are looked for at most."""
    return _SWAPS if k > 2 and _count_variants(k) >= FEWEST else 0


def _plan_swaps(n: int) -> list[int]:
    """How many of n starts stay after each step of a race of swaps; all take a second step."""
    plan = [n]
    while plan[-1] > 1:
        plan.append(max(1, plan[-1] // _KEPT))
    return plan


def _keep_best(rivals: Rivals, n: int) -> Rivals:
    """The best n of the starts; of equal ones the first."""
    best = np.argsort(_without_noise(rivals.score), kind="stable")[:n]
    weight = None if rivals.weight is None else rivals.weight[best]
    return Rivals(rivals.starts[best], rivals.score[best], weight)


def _without_noise(score: FloatArray) -> FloatArray:
    """Scores without their last digits, which depend on how rows are split: equal ones stay so."""
    unit = 1e-9 * np.abs(score).max(initial=1e-300)
    rounded: FloatArray = np.rint(score / unit)
    return rounded


def _search(summary: Summary, k: int, rng: Rng) -> list[FloatArray]:
    points, weight = summary
    if len(points) < k:
        return [_spread(summary, k, rng)]
    return search_centers(points, k, rng, weight, most=_count_rivals(k), kicks=_KICKS)


def _spread(summary: Summary, n: int, rng: Rng) -> FloatArray:
    """Choose n centres among the points; where there are fewer points, some beside points."""
    points, weight = summary
    if len(points) >= n:
        return k_means(points, n, rng, weight, restarts=1)
    copies = points[np.arange(len(points), n) % len(points)]
    beside = copies + rng.normal(size=copies.shape) * points.std(axis=0) / 2
    # Clients refuse centres outside their public bounds, which the points are within.
    return np.concatenate([points, np.clip(beside, points.min(axis=0), points.max(axis=0))])


def _reach_beyond(summary: Summary) -> FloatArray:
    """Places beyond the outlying points, where single rows may be that the groups hide.

    The mean of a group is nearer to the other rows than the outermost of its own rows, which a
    centre beyond the mean attracts. Outlying are points far from all heavier ones. Points of very
    many clients are compared with the heaviest ones alone: all pairs would take too much memory.
    """
    points, weight = summary
    points = points[np.argsort(-weight, kind="stable")]
    heaviest, others = points[:_HEAVIEST], points[_HEAVIEST:]
    apart = np.where(np.tri(len(heaviest), k=-1) > 0, sq_distances(heaviest, heaviest), np.inf)
    labels, d2 = nearest(others, heaviest)
    heavier = np.concatenate([apart[1:].argmin(axis=1), labels])
    distance = np.concatenate([apart[1:].min(axis=1), d2])
    far = np.argsort(-distance, kind="stable")[:_OUTLYING]
    away = points[far + 1] - points[heavier[far]]
    return np.concatenate([points[far + 1] + times * away for times in _BEYOND])


def _beside(summary: Summary, n: int, rng: Rng) -> FloatArray:
    """Up to n places right beside points: a centre there divides a point that stands for several.

    A point that many rows share stays whole. Heavy points that are far from all others come first.
    """
    points, weight = summary
    if n <= 0 or len(points) < 2:
        return points[:0]
    apart = sq_distances(points, points)
    np.fill_diagonal(apart, np.inf)
    near = apart.min(axis=1)
    order = np.argsort(-weight * near, kind="stable")
    chosen = order[np.arange(min(n, _DIVISIONS * len(points))) % len(points)]
    away = rng.normal(size=(len(chosen), points.shape[1]))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    beside: FloatArray = points[chosen] + _BESIDE * np.sqrt(near[chosen])[:, None] * away
    return beside


def _count_micro(k: int) -> int:
    return max(_FEWEST_MICRO, _MICRO_PER_CLUSTER * k)


def _count_groups(k: int, n_clients: int) -> int:
    """Groups of rows at each client: few where there are many clients."""
    n = _count_micro(k)
    return min(n, max(2 * k, _CANDIDATES_PER_MICRO * n // max(n_clients, 1)))
