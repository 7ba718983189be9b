"""Cluster simulated data of a given size with several values of epsilon."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, cast

import numpy as np

from ...algorithms import make
from ...channels import LocalChannel
from ...clustering.rows import cluster
from ...core import ConfigError, Schema
from ...core.files import write_atomically
from ...kernels import nearest
from ...metrics import adjusted_rand_index
from ...tiers import TIERS, Tier, tier_of
from ...typing import FloatArray, IntArray, Rng

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_SEPARATION = 6.0  # standard deviations between centres


@dataclass(frozen=True)
class Trial:
    """Agreement with the true clusters for one epsilon, over several runs."""

    epsilon: float
    median: float
    worst: float


class Sizes(NamedTuple):
    """What a simulation needs to know of a study; None: not known."""

    rows: int | None = None
    clusters: int | None = None
    features: int | None = None
    clients: int | None = None
    tier: str | None = None
    delta: float | None = None

    def complete(self, study: "Sizes") -> tuple[int, int, int, int, str, float]:
        """These sizes, else those of a study, else defaults; a refusal if there are none."""
        known = [a if a is not None else b for a, b in zip(self, study, strict=True)]
        known = [a if a is not None else b for a, b in zip(known, _DEFAULT, strict=True)]
        if missing := [f"--{n}" for n, v in zip(self._fields, known, strict=True) if v is None]:
            raise ConfigError(f"give {' and '.join(missing)}, which no study file says")
        return cast(tuple[int, int, int, int, str, float], tuple(known))


_DEFAULT = Sizes(features=2, clients=10, tier="secure+dp", delta=1e-6)


def read_sizes(path: Path) -> Sizes:
    """The sizes of a study over split rows; rows are counted where its files can be read.

    The person who runs it has these files, so no tier has to hide how many rows they have. With
    "auto" it is the largest number of clusters that may be chosen.
    """
    from ...study.read import read_study
    from ...study.run import survey_study

    study = read_study(path, files=False)
    parameters = study.privacy.parameters
    open_tier = replace(study.privacy, tier="none", parameters={})
    survey = survey_study(replace(study, privacy=open_tier)) if study.clients else None
    columns = survey.columns if survey else study.features or ()
    counts = [n for n in survey.rows.values() if n is not None] if survey else []
    return Sizes(
        rows=sum(counts) if counts and survey and len(counts) == len(study.clients) else None,
        clusters=study.n_clusters[1],
        features=sum(len(column.encoded_names) for column in columns) or None,
        clients=len(study.clients) or None,
        tier=study.privacy.tier if TIERS.get(study.privacy.tier or "", Tier).noisy else None,
        delta=parameters.get("delta"),
    )


def try_epsilons(
    n_rows: int,
    n_clusters: int,
    n_features: int,
    n_clients: int,
    *,
    tier: str = "secure+dp",
    delta: float = 1e-6,
    n_seeds: int = 3,
    epsilons: Sequence[float] = EPSILONS,
) -> list[Trial]:
    """Cluster simulated data of this size with each epsilon, several times."""
    noisy = [name for name, kind in TIERS.items() if kind.noisy]
    if tier not in noisy:
        raise ConfigError(f"--tier must be one of {', '.join(noisy)}, got {tier!r}")
    for name, number in (("--seeds", n_seeds), ("--features", n_features)):
        if number < 1:
            raise ConfigError(f"{name} must be at least 1, got {number}")
    least = tier_of(tier).fewest_clients
    if n_clients < least or n_rows < max(n_clients, 2 * n_clusters) or n_clusters < 2:
        raise ConfigError(
            f"{tier} needs at least {least} clients, 2 clusters, and enough rows for all of them"
        )
    trials = []
    for epsilon in epsilons:
        chosen = cast(Any, TIERS[tier])(epsilon=epsilon, delta=delta)
        scores = []
        for seed in range(n_seeds):
            rng = np.random.default_rng(seed)
            X, truth = blobs(n_rows, n_clusters, n_features, rng)
            owner = rng.integers(0, n_clients, n_rows)
            tables = {f"c{m:03d}": X[owner == m] for m in range(n_clients)}
            box = Schema(n_features, low=np.zeros(n_features), high=np.ones(n_features))
            made = cluster(
                make("llf-cm", n_clusters), LocalChannel(tables), box, privacy=chosen, seed=seed
            )
            scores.append(adjusted_rand_index(truth, nearest(X, made.centers)[0]))
        trials.append(Trial(epsilon, median(scores), min(scores)))
    return trials


def blobs(n: int, k: int, F: int, rng: Rng) -> tuple[FloatArray, IntArray]:
    """Round clusters in the unit cube with well separated centres, and the true labels."""
    centers = rng.uniform(0.1, 0.9, (1, F))
    while len(centers) < k:  # keep the candidate farthest from the other centres
        drawn = rng.uniform(0.1, 0.9, (20, F))
        distance = np.linalg.norm(drawn[:, None] - centers, axis=2).min(axis=1)
        centers = np.vstack([centers, drawn[distance.argmax()]])
    between = np.linalg.norm(centers[:, None] - centers, axis=2)
    np.fill_diagonal(between, np.inf)
    truth = rng.integers(0, k, n)
    rows = rng.normal(centers[truth], between.min() / _SEPARATION)
    return np.clip(rows, 0.0, 1.0), truth


def draw(trials: Sequence[Trial], target: Path) -> None:
    """Draw the agreement against epsilon."""
    if target.suffix not in (".png", ".svg"):
        raise ConfigError(f"{target}: use a .png or .svg file")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(f"{target}: needs matplotlib: pip install 'fedclust[plot]'") from None
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    epsilons = [one.epsilon for one in trials]
    axes.semilogx(epsilons, [one.median for one in trials], "o-", label="median")
    axes.semilogx(epsilons, [one.worst for one in trials], "v:", label="worst")
    axes.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
    axes.set(xlabel="epsilon", ylabel="agreement with the true clusters", ylim=(-0.05, 1.05))
    axes.axhline(0.95, color="gray", linewidth=0.8)
    axes.legend(loc="lower right")
    write_atomically(target, lambda file: figure.savefig(file, format=target.suffix[1:]))
