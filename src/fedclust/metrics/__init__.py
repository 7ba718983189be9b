"""Quality of a clustering, as functions of one table and as federated one-round queries."""

from .agreement import (
    adjusted_rand_index,
    adjusted_rand_of_table,
    client_mean,
    knowledge_gap,
    majority_accuracy,
    normalized_gap,
    normalized_mutual_information,
    silhouette,
    tolerance_index,
    v_measure,
)
from .contingency import Contingency
from .federated import Evaluated, Evaluation
from .indices import Index, Measure, Rows, cluster_sizes
from .profile import (
    ClientCells,
    ClientCounts,
    ClusterShapes,
    MapCounts,
    PartialProfile,
    Profile,
)
from .registry import INDICES, evaluate, register, reported_indices, unregister
from .standard import (
    davies_bouldin,
    fuzzy_objective,
    inertia,
    osse,
    score,
    simplified_silhouette,
    soft_davies_bouldin,
    wsse,
    xie_beni,
)

__all__ = [
    "Contingency",
    "Evaluated",
    "Evaluation",
    "INDICES",
    "Index",
    "MapCounts",
    "Measure",
    "ClusterShapes",
    "ClientCells",
    "ClientCounts",
    "PartialProfile",
    "Profile",
    "Rows",
    "adjusted_rand_index",
    "adjusted_rand_of_table",
    "client_mean",
    "cluster_sizes",
    "davies_bouldin",
    "evaluate",
    "fuzzy_objective",
    "inertia",
    "knowledge_gap",
    "majority_accuracy",
    "normalized_gap",
    "normalized_mutual_information",
    "osse",
    "register",
    "reported_indices",
    "score",
    "silhouette",
    "simplified_silhouette",
    "soft_davies_bouldin",
    "tolerance_index",
    "unregister",
    "v_measure",
    "wsse",
    "xie_beni",
]
