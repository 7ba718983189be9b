"""One of every algorithm that clients answer over rows."""

from typing import Any

import numpy as np

from fedclust.algorithms import ALGORITHMS, SEEDINGS, make, make_seeding
from fedclust.algorithms.bounded_c_means import BoundedCMeans
from fedclust.algorithms.bounded_moments import BoundedMoments
from fedclust.algorithms.cell_seeding import CellSeeding
from fedclust.algorithms.micro_clusters import MicroClusters, RivalSteps
from fedclust.algorithms.mixture_fit import MixtureFit
from fedclust.algorithms.partial import PartialCMeans, PartialFuzzyCMeans, PartialRivals
from fedclust.algorithms.prototypes import PartialPrototypes
from fedclust.algorithms.range_counts import RangeCounts
from fedclust.algorithms.robust_c_means import RobustCMeans, RobustRivals
from fedclust.clustering.choose_k.halves import (
    HalfSeeding,
    HalvesCMeans,
    HalvesFuzzyCMeans,
    HalvesPartialCMeans,
    HalvesPartialFuzzyCMeans,
)
from fedclust.clustering.preparation import Histogram, MedianOfMeans, Moments
from fedclust.clustering.summary.cells import CellMicroQuery
from fedclust.clustering.summary.queries import MicroQuery
from fedclust.core import AnyAlgorithm, Schema
from fedclust.kernels import Density
from fedclust.metrics import (
    INDICES,
    ClientCells,
    ClientCounts,
    ClusterShapes,
    Contingency,
    Evaluation,
    MapCounts,
    PartialProfile,
    Profile,
)

SCHEMA = Schema(2, low=np.full(2, -9.0), high=np.full(2, 30.0))
START = np.array([[1.0, 9.0], [4.0, 18.0], [8.0, 4.0]])


def plans() -> list[AnyAlgorithm]:
    clustering = [
        make(key, 3, init=START) if hasattr(make(key, 3), "init") else make(key, 3)
        for key in ALGORITHMS
    ]
    seeding = [make_seeding(key, 3) for key in SEEDINGS]
    scores = [Evaluation(3, START, index) for index in INDICES]
    axes, low, high = np.eye(2), np.zeros(2), np.full(2, 25.0)
    both = np.vstack([START, START + 1.0])
    mixture = Density.around(START, np.arange(2)).pack()
    others: list[Any] = [
        Evaluation(3, START, ("inertia", "davies-bouldin")),
        Contingency(3, START, START + 2.0),
        Profile(3, START, 2.0),
        PartialProfile(3, START, 2.0),
        ClusterShapes(3, START, axes),
        ClientCells(),
        ClientCounts(3, START),
        MixtureFit(3, START, mixture, np.zeros(2, dtype=np.int64)),
        MapCounts(axes, low, high),
        HalfSeeding(3, second=True, split=4),
        HalvesCMeans(6, both, split=4),
        HalvesFuzzyCMeans(6, both, split=4),
        HalvesPartialCMeans(6, both, split=4),
        HalvesPartialFuzzyCMeans(6, both, split=4),
        MicroQuery(3, START),
        MicroQuery(3, START, borders=True),
        CellMicroQuery(3, START),
        CellMicroQuery(3, START, borders=True),
        Moments(),
        MedianOfMeans(),
        Histogram(low, high),
        CellSeeding(3, low, high),
        BoundedCMeans(3, low, high, init=START),
        BoundedMoments(1, low, high),
        RangeCounts(1, low, high, places=np.arange(2)),
        RobustCMeans(3, START),
        MicroClusters(3, START),
        RivalSteps(3, both),
        PartialCMeans(3, START),
        PartialFuzzyCMeans(3, START),
        PartialPrototypes(3, START),
        PartialRivals(3, both),
        RobustRivals(3, both),
    ]
    return [*clustering, *seeding, *scores, *others]
