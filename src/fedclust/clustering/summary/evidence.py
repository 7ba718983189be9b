"""Choose the number of clusters from the summary: a sweep over rows that are drawn from it."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ...algorithms import make
from ...channels import LocalChannel
from ...core import ConfigError, Schema, stream
from ...kernels import k_means
from ...metrics import simplified_silhouette
from ...typing import FloatArray
from ..choose_k import Choice, choose
from ..choose_k.rule import NEAR
from .valleys import deepest_valley
from .value import DataSummary, draw_rows

_DRAWN = 1_500  # rows
_ABOVE_ONE_BOX = 0.02  # silhouette above that of one box from which clusters are evident
_SHALLOW = 0.7  # rows in the deepest valley, by those beside it, from which there is none
_PROJECTED = 6_000  # rows drawn to find valleys
_FEW = 0.015  # of the rows: filled cells and outliers make groups as small as this
_BOXES = 3  # drawn, of which the mean silhouette counts
_MICRO_PER_CLUSTER = 2  # with fewer, one cluster looks like a cluster of several micro-clusters
_NOISY_PER_CLUSTER = 4 / 3  # noise leaves few of them, which are surely groups of rows


def choose_from(summary: DataSummary, ks: Iterable[int]) -> Choice:
    """The number of clusters that the summary shows, with its evidence; no client is queried.

    k-means is used for the evidence, also where fuzzy clusters are wanted: fuzzy centres of a large
    k coincide, and there are then fewer clusters to score.
    """
    wanted = sorted(set(ks))
    most = int(len(summary) / (_NOISY_PER_CLUSTER if summary.noise else _MICRO_PER_CLUSTER))
    usable = [k for k in wanted if k <= most]
    if not usable:
        raise ConfigError(
            f"too few rows to choose the number of clusters: {summary.rows:.0f} rows give "
            f"{len(summary)} micro-clusters, so at most {most} clusters can be tried; give "
            "n_clusters"
        )
    rows = LocalChannel({"summary": draw_rows(summary, _DRAWN)})
    schema = Schema(summary.centers.shape[1])
    # Noise leaves no spreads, and rows drawn around single points reappear in all halves.
    near = 0.0 if summary.noise else NEAR
    choice = choose(make("llf-cm", usable[-1]), rows, schema, usable, near=near, few=_FEW)
    why, weak = choice.why.replace("of the rows", "of rows drawn from the summary"), choice.weak
    box = _one_box(summary, choice.recommended)
    best = {score.n_clusters: score for score in choice.scores}[choice.recommended]
    if not weak and best.indices[simplified_silhouette.name] < box + _ABOVE_ONE_BOX:
        weak = True
        why += f" The evidence is weak: one evenly filled box would score about {box:.2f}."
    elif not (weak or summary.noise) and _is_one_hill(summary, best.centers):
        weak = True
        why += " The evidence is weak: nowhere between clusters are there fewer rows than in them."
    if usable[-1] < wanted[-1]:
        why += f" There are too few rows to try more than {usable[-1]} clusters."
    return replace(
        choice, why=why, weak=weak, sent={}, rounds=summary.queries, work=0.0, summary=summary
    )


def _is_one_hill(summary: DataSummary, centers: FloatArray) -> bool:
    """Whether no valley separates any cluster from its neighbour, as in a single skewed cloud."""
    return deepest_valley(draw_rows(summary, _PROJECTED), centers) > _SHALLOW


def _one_box(summary: DataSummary, k: int) -> float:
    """Silhouette of k clusters in one evenly filled box with the spread of the summary.

    A single Gaussian, with which the rule compares, has fewer rows at its corners, which k = 4 in
    two dimensions finds in any box.
    """
    rng = stream(0, "box", k)
    between = (summary.centers - summary.mean) * np.sqrt(summary.weight / summary.rows)[:, None]
    covariance = between.T @ between + np.diag(summary.square.sum(axis=0) / summary.rows)
    variances, axes = np.linalg.eigh(covariance)
    sides = np.sqrt(12.0 * np.maximum(variances, 0.0))
    n = int(np.clip(summary.rows, k + 1, 1_000))
    values = []
    for _ in range(_BOXES):
        rows = (rng.random((n, len(sides))) - 0.5) * sides @ axes.T
        values.append(simplified_silhouette(rows, k_means(rows, k, rng, restarts=2)))
    return float(np.mean(values))
