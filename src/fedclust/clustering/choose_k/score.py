"""Results of a sweep over numbers of clusters."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...metrics import Measure
from ...results import ChoiceRecord, ScoreRecord
from ...typing import FloatArray

if TYPE_CHECKING:  # which uses the choice
    from ..summary import DataSummary

ELBOW = Measure(
    name="elbow",
    title="Elbow",
    meaning="how sharply the inertia bends at this number of clusters",
    better="higher",
)
STABILITY = Measure(
    name="stability",
    title="Stability",
    meaning="agreement of the clusterings of two halves of the rows; 1 is perfect",
    better="higher",
)
WEAKEST_CLUSTER = Measure(
    name="weakest-cluster",
    title="Weakest cluster",
    meaning="overlap (Jaccard) of the least reproducible cluster between the two halves; "
    "1 is perfect",
    better="higher",
)
# Measures of several indices or clusterings, in addition to the indices.
EVIDENCE: Mapping[str, Measure] = {m.name: m for m in (ELBOW, STABILITY, WEAKEST_CLUSTER)}


@dataclass(frozen=True, eq=False)
class Score:
    """Evidence for one number of clusters, over the rows of all clients."""

    n_clusters: int
    centers: FloatArray  # (C, F)
    indices: Mapping[str, float]  # inertia, and all indices that choose k
    elbow: float  # distance of the log inertia below the line from one cluster to the most
    stability: float  # adjusted Rand index of two halves of the rows; NaN: not measured
    weakest_cluster: float  # smallest overlap (Jaccard) of a cluster between the halves
    smallest: float = 1.0  # share of the rows in the smallest cluster

    def summarize(self) -> ScoreRecord:
        """The score without its centres, for a file."""
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
    """A recommended number of clusters, its evidence, and its costs."""

    scores: tuple[Score, ...]  # one for each number of clusters, ascending
    recommended: int
    why: str
    weak: bool  # the evidence is weak; `why` gives the reasons
    favourites: Mapping[str, int]  # number that each index alone would choose
    sent: Mapping[str, int]  # bytes, by client
    rounds: int
    work: float  # sum over rounds of the number of centres that each row is compared with
    summary: "DataSummary | None" = None  # that it was chosen from; None: from all rows

    def summarize(self) -> ChoiceRecord:
        """The recommendation and its evidence, for a file."""
        return ChoiceRecord(
            recommended=self.recommended,
            why=self.why,
            weak=self.weak,
            scores=tuple(score.summarize() for score in self.scores),
            favourites=self.favourites,
        )
