"""What a sweep over numbers of clusters found, and what is made of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ...metrics import Measure
from ...results import ChoiceRecord, ScoreRecord
from ...typing import FloatArray

ELBOW = Measure(
    name="elbow", title="Elbow", meaning="how sharply the inertia bends here", better="higher"
)
STABILITY = Measure(
    name="stability",
    title="Stability",
    meaning="how alike clusterings of two halves of the rows are; at most 1",
    better="higher",
)
WEAKEST_CLUSTER = Measure(
    name="weakest-cluster",
    title="Weakest cluster",
    meaning="how well the cluster found again least overlaps with itself in the other half; "
    "at most 1",
    better="higher",
)
# What a choice computes of several indices or clusterings, beside the indices themselves.
EVIDENCE: Mapping[str, Measure] = {m.name: m for m in (ELBOW, STABILITY, WEAKEST_CLUSTER)}


@dataclass(frozen=True, eq=False)
class Score:
    """The evidence for one number of clusters; all of it is of the rows of all clients."""

    n_clusters: int
    centers: FloatArray  # (C, F)
    indices: Mapping[str, float]  # the inertia, and all indices that choose k
    elbow: float  # how far the log inertia lies below the line from one cluster to the most
    stability: float  # adjusted Rand index of two halves of the rows; NaN: not measured
    weakest_cluster: float  # smallest overlap (Jaccard) of a cluster with its own in the other half

    def summarize(self) -> ScoreRecord:
        """The score without the centres, for a file."""
        values = {
            **self.indices,
            ELBOW.name: self.elbow,
            STABILITY.name: self.stability,
            WEAKEST_CLUSTER.name: self.weakest_cluster,
        }
        known = {name: v if math.isfinite(v) else None for name, v in values.items()}
        return ScoreRecord(self.n_clusters, known)


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

    def summarize(self) -> ChoiceRecord:
        """The recommendation and its evidence, for a file."""
        return ChoiceRecord(
            recommended=self.recommended,
            why=self.why,
            weak=self.weak,
            scores=tuple(score.summarize() for score in self.scores),
            favourites=self.favourites,
        )
