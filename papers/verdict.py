"""Does a published number hold? A two-sample rule: two standard errors, plus printed rounding."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fedclust.typing import Array, FloatArray, IntArray

from .experiment import Cell, Claim, Experiment, Statistic, Task

Results = Mapping[str, Mapping[int, Mapping[str, float]]]  # task, seed, quantity

REPRODUCED, NOISY, DIFFERS = "reproduced", "too noisy", "differs"
FEW, OPEN, ABSENT = "too few runs", "not run", "cannot be had"
VERDICTS = (REPRODUCED, NOISY, DIFFERS, FEW, OPEN, ABSENT)
_NOISY = 0.25  # of the published value: with a wider limit, agreement says little
_RESAMPLES = 1000


@dataclass(frozen=True)
class Sample:
    """Our runs of a cell, in order of their seeds."""

    values: FloatArray
    score: FloatArray  # which runs are the better half
    seeds: IntArray


class Outcome(NamedTuple):
    """A cell with its verdict."""

    cell: Cell
    verdict: str  # empty if the paper has no such number
    ours: float = np.nan
    sd: float = np.nan
    runs: int = 0
    needed: int = 0
    limit: float = np.nan  # of the difference
    groups: str = ""  # if the runs fall into two groups


def judge(experiment: Experiment, results: Results) -> list[Outcome]:
    """All cells with their verdicts."""
    tasks = {task.name: task for task in experiment.tasks}
    return [_judge(cell, tasks.get(cell.task), results) for cell in experiment.cells]


def _judge(cell: Cell, task: Task | None, results: Results) -> Outcome:
    if cell.absent or task is None:
        return Outcome(cell, ABSENT)
    sample = sample_of(cell, results)
    n = len(sample.values)
    if n == 0:
        return Outcome(cell, OPEN if cell.published else "", needed=task.runs)
    ours, sd = statistic(cell.statistic, sample), _sd(sample.values)
    exact = rounding(cell.published) if cell.published else 0.0
    shown = Outcome(cell, "", ours, sd, n, task.runs, groups=two_groups(sample.values, exact))
    if cell.published is None:
        return shown
    if n < task.runs:
        return shown._replace(verdict=FEW)
    shift, error = compare(cell, sample)
    limit = 2 * error + rounding(cell.published)
    gap = abs(ours + shift - float(cell.published))
    return shown._replace(verdict=_verdict(cell.published, gap, 2 * error), limit=limit)


def _verdict(published: str, gap: float, spread: float) -> str:
    exact = rounding(published)
    if gap <= exact:
        return REPRODUCED
    if gap > spread + exact:
        return DIFFERS
    return REPRODUCED if spread <= max(_NOISY * abs(float(published)), exact) else NOISY


def sample_of(cell: Cell, results: Results) -> Sample:
    """Our runs of a cell."""
    runs = {s: r for s, r in sorted(results.get(cell.task, {}).items()) if cell.quantity in r}
    values = np.array([r[cell.quantity] for r in runs.values()])
    score = np.array([r.get("score", r[cell.quantity]) for r in runs.values()])
    return Sample(values, score, np.array(list(runs), dtype=np.int64))


def rounding(published: str) -> float:
    """Half a unit of the last printed digit."""
    return 0.5 * 10.0 ** -len(published.partition(".")[2]) + 1e-12


_KINDS: Mapping[Statistic, Callable[..., Any]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "std": np.std,
    "best half": np.mean,
    "std of best half": np.std,
}


def statistic(kind: Statistic, sample: Sample) -> float:
    """The statistic that the paper reports; the best half are the runs with lower scores."""
    return float(_reduce(kind, sample.values[None], sample.score[None])[0])


def _reduce(kind: Statistic, values: FloatArray, score: FloatArray) -> FloatArray:
    """The statistic of each row."""
    if "half" in kind:
        best = np.argsort(score, axis=1, kind="stable")[:, : max(1, score.shape[1] // 2)]
        values = np.take_along_axis(values, best, axis=1)
    reduced: FloatArray = _KINDS[kind](values, axis=1)
    return reduced


def compare(cell: Cell, sample: Sample) -> tuple[float, float]:
    """How the statistic of the paper's number of runs differs from ours, and the standard error.

    Where the spread of the paper's runs is not known, they are taken to have that of ours. Means
    have a formula. For other statistics, samples of either size are drawn from our runs.
    """
    ours, theirs = len(sample.values), cell.published_runs
    if cell.statistic == "mean":
        sd = _sd_of_starts(sample, theirs) if cell.shared_starts else _sd(sample.values)
        other_sd = sd if cell.published_sd is None else cell.published_sd
        return 0.0, float(np.sqrt(sd**2 / ours + other_sd**2 / theirs))
    rng = np.random.default_rng(0)
    mine, other = (_redraw(cell.statistic, sample, n, rng) for n in (ours, theirs))
    return float(other.mean() - mine.mean()), float(np.sqrt(mine.var() + other.var()))


def _redraw(kind: Statistic, sample: Sample, n: int, rng: np.random.Generator) -> FloatArray:
    """The statistic of samples of n runs drawn from ours.

    For extremes and spreads they are smoothed: an extreme of more runs can lie further out.
    """
    chosen = rng.integers(0, len(sample.values), (_RESAMPLES, n))
    values = sample.values[chosen]
    if kind in ("min", "max", "std"):
        _, within = _split(sample.values)  # of two groups, each is smoothed by itself
        width = len(sample.values) ** -0.2  # Silverman's rule
        values = values + width * within * rng.normal(size=values.shape)
    return _reduce(kind, values, sample.score[chosen])


def _sd(values: FloatArray) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _sd_of_starts(sample: Sample, starts: int) -> float:
    """Spread of runs from the same start, which is all by which two samples of them differ."""
    groups = [sample.values[sample.seeds % starts == s] for s in range(starts)]
    squares = sum(float(((g - g.mean()) ** 2).sum()) for g in groups if len(g))
    freedom = sum(len(g) - 1 for g in groups if len(g))
    return float(np.sqrt(squares / freedom)) if freedom else 0.0


def two_groups(values: Array, least: float = 0.0) -> str:
    """A note if the runs fall into two groups far apart, so that their mean is of neither."""
    if len(values) < 5:
        return ""
    cut, _ = _split(values)
    low, high = np.split(np.sort(values), [cut])
    if cut == 0 or high[0] - low[-1] <= max(0.1 * abs(values).max(), least):
        return ""
    return f"{len(low)} runs near {low.mean():.3g}, {len(high)} near {high.mean():.3g}"


def _split(values: Array) -> tuple[int, float]:
    """Where sorted runs fall into two groups, or 0; and the spread within groups."""
    ordered = np.sort(values)
    cut = int(np.argmax(np.diff(ordered))) + 1 if len(values) > 1 else 0
    if cut == 0:
        return 0, 0.0
    low, high = np.split(ordered, [cut])
    within = float(np.sqrt((low.var() * len(low) + high.var() * len(high)) / len(ordered)))
    return (cut, within) if high[0] - low[-1] > 4 * within else (0, _sd(values))


def _pairs(claim: Claim, results: Results) -> FloatArray:
    """Differences between the two sides, by seed: the runs of a seed share split and start."""
    small, large = (results.get(task, {}) for task in (claim.smaller, claim.larger))
    both = [(small[s], large[s]) for s in sorted(set(small) & set(large))]
    what = claim.quantity
    return np.array([b[what] - a[what] for a, b in both if what in a and what in b])


def holds(claim: Claim, experiment: Experiment, results: Results) -> tuple[str, str]:
    """Whether a claim holds, over pairs of runs with the same seed; and the count of pairs."""
    needed = min(t.runs for t in experiment.tasks if t.name in (claim.smaller, claim.larger))
    pairs = _pairs(claim, results)
    if len(pairs) == 0:
        return OPEN, ""
    count = f"{int((pairs > 0).sum())} of {len(pairs)} pairs"
    if len(pairs) < max(2, needed):
        return FEW, f"{count}; {needed} needed"
    error = _sd(pairs) / np.sqrt(len(pairs))
    if abs(pairs.mean()) <= 2 * error:
        return "a tie", count
    return ("holds" if pairs.mean() > 0 else "does not hold"), count


def count_claims(experiment: Experiment, results: Results) -> tuple[int, int]:
    """How many claims hold, of how many that could be tested."""
    states: Sequence[str] = [holds(claim, experiment, results)[0] for claim in experiment.claims]
    return states.count("holds"), sum(state not in (OPEN, FEW) for state in states)
