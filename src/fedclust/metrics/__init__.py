"""Quality of a clustering: plain functions, and the same as one-round federated runs."""

from .agreement import (
    adjusted_rand_index,
    adjusted_rand_of_table,
    client_mean,
    knowledge_gap,
    majority_accuracy,
    normalized_gap,
    normalized_mutual_information,
    silhouette,
    v_measure,
)
from .compactness import (
    davies_bouldin,
    evaluate,
    fuzzy_objective,
    inertia,
    osse,
    score,
    simplified_silhouette,
    soft_davies_bouldin,
    tolerance_index,
    wsse,
    xie_beni,
)
from .contingency import Contingency
from .federated import Evaluated, Evaluation
from .indices import INDICES
from .profile import ClientCounts, ClusterShapes, Profile

__all__ = [
    "Contingency",
    "Evaluated",
    "Evaluation",
    "INDICES",
    "ClusterShapes",
    "ClientCounts",
    "Profile",
    "adjusted_rand_index",
    "adjusted_rand_of_table",
    "client_mean",
    "davies_bouldin",
    "evaluate",
    "fuzzy_objective",
    "inertia",
    "knowledge_gap",
    "majority_accuracy",
    "normalized_gap",
    "normalized_mutual_information",
    "osse",
    "score",
    "silhouette",
    "simplified_silhouette",
    "soft_davies_bouldin",
    "tolerance_index",
    "v_measure",
    "wsse",
    "xie_beni",
]
