"""Choose the number of clusters of a mixture by BIC: one run for each number.

For a mixture the likelihood says how much a cluster more explains, and BIC what it costs, so no
halves and no silhouettes are needed. C. Fraley, A. E. Raftery: "Model-Based Clustering,
Discriminant Analysis, and Density Estimation", JASA 97, 2002, use it for the same choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from ...core import AnyAlgorithm, derive_seed
from ...metrics.likelihood import BIC, ICL, LOG_LIKELIHOOD
from ..rows import Clustering, Init, cluster
from .runs import Runs
from .score import Choice, Score

_STRONG = 10.0  # difference of BIC that Kass and Raftery (1995) call very strong evidence


def choose_by_likelihood(
    algorithm: AnyAlgorithm,
    ks: Sequence[int],
    runs: Runs,
    init: Init,
    on_step: Callable[[int, int, int], None] | None = None,
) -> Choice:
    """Run the mixture with every k of the ascending `ks`, and recommend the lowest BIC."""
    scores: list[Score] = []
    for done, k in enumerate(reversed(ks), 1):
        found = _cluster(algorithm, k, runs, init)
        assert found.fit is not None  # noqa: S101  (a mixture has a fit)
        scores.insert(0, _score(found, k))
        if on_step is not None:
            on_step(k, done, len(ks))
    bic = np.array([score.indices[BIC.name] for score in scores])
    best = int(bic.argmin())
    favourites = {m.name: ks[m.best([s.indices[m.name] for s in scores])] for m in (BIC, ICL)}
    why, weak = _explain(ks, bic, favourites[ICL.name])
    return Choice(tuple(scores), ks[best], why, weak, favourites, runs.sent, runs.rounds, runs.work)


def _cluster(algorithm: AnyAlgorithm, k: int, runs: Runs, init: Init) -> Clustering:
    """One run with k clusters; its costs are added up."""
    found = cluster(
        cast(AnyAlgorithm, replace(cast(Any, algorithm), n_clusters=k, init=None)),
        runs.channel,
        runs.schema,
        init=init,
        privacy=runs.tier,
        sampling=runs.sampling,
        seed=derive_seed(runs.seed, "mixture", k),
        runner=runs.runner,
    )
    runs.rounds += found.start_rounds + found.run.n_rounds + 1
    runs.work += k * (found.run.n_rounds + 1)
    for client, size in found.sent.items():
        runs.sent[client] = runs.sent.get(client, 0) + size
    return found


def _score(found: Clustering, k: int) -> Score:
    fit = found.fit
    assert fit is not None  # noqa: S101
    return Score(
        n_clusters=k,
        centers=found.centers,
        indices={
            "inertia": found.inertia,
            LOG_LIKELIHOOD.name: fit.loglik,
            BIC.name: fit.bic,
            ICL.name: fit.icl,
        },
        elbow=np.nan,
        stability=np.nan,
        weakest_cluster=np.nan,
    )


def _explain(ks: Sequence[int], bic: Any, by_icl: int) -> tuple[str, bool]:
    """The recommendation in words, and whether it is weak."""
    best = int(bic.argmin())
    others = np.delete(bic, best)
    apart = float(others.min() - bic[best]) if len(others) else 0.0
    weak = apart < _STRONG
    words = f"Chose k = {ks[best]}{'; the evidence is weak' if weak else ''}. "
    words += f"It has the lowest BIC, {bic[best]:,.0f}"
    if len(others):
        next_best = ks[int(np.argsort(bic)[1])]
        words += f", which is {apart:,.0f} below that of k = {next_best}"
    words += "."
    if by_icl != ks[best]:
        words += f" ICL, which charges for overlap, would choose k = {by_icl}."
    if ks[best] == ks[-1]:
        words += " It is the largest k tried; try larger ones."
    elif ks[best] == ks[0] > 2:
        words += " It is the smallest k tried; try smaller ones."
    return words, weak
