"""What a sweep over numbers of clusters found, and what is made of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...typing import FloatArray


@dataclass(frozen=True, eq=False)
class Score:
    """The evidence for one number of clusters; all of it is of the rows of all clients."""

    n_clusters: int
    centers: FloatArray  # (C, F)
    inertia: float
    simplified_silhouette: float  # high is good
    soft_davies_bouldin: float  # low is good
    xie_beni: float  # low is good
    elbow: float  # how far the log inertia lies below the line from one cluster to the most
    stability: float  # adjusted Rand index of two halves of the rows; NaN: not measured
    weakest_cluster: float  # smallest overlap (Jaccard) of a cluster with its own in the other half

    def as_config(self) -> dict[str, Any]:
        """Plain values for a file, without the centres; None for what is no number."""
        values = {n: v for n, v in vars(self).items() if n != "centers"}
        names = {n: n if n == "n_clusters" else n.replace("_", "-") for n in values}
        return {names[n]: v if math.isfinite(v) else None for n, v in values.items()}


@dataclass(frozen=True, eq=False)
class Choice:
    """A recommended number of clusters, the evidence, and what it cost."""

    scores: tuple[Score, ...]  # one for each number of clusters, ascending
    recommended: int
    why: str
    weak: bool  # little speaks for clusters at all; `why` says what is missing
    favourites: Mapping[str, int]  # which number each index alone would choose
    sent: Mapping[str, int]  # bytes, by client
    rounds: int
    work: float  # sum over exchanges of the centres that a row was compared with

    def as_config(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {
            "recommended": self.recommended,
            "why": self.why,
            "weak": self.weak,
            "scores": [score.as_config() for score in self.scores],
            "favourites": dict(self.favourites),
        }
