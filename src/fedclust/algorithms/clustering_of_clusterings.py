"""C2F-FCM: clustering of clusterings.

M. Stallmann, A. Wilbik: "On a Framework for Federated Cluster Analysis", Applied Sciences 12(20),
2022, as J. L. Corcuera Barcena et al. (2024) describe and use it.

The loop of FFCM with avg2: fuzzy c-means to convergence at every client, k-means over all their
centres at the server, k-means++ in the first round and a warm start afterwards. Every client
returns to its own local optimum, so nothing moves after a few rounds: in effect it is one-shot. It
has its own key because the LLF paper compares against it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from ..core import Role, Work
from .clustered_fcm import ClusteredFCM


@dataclass(frozen=True, eq=False)
class ClusteringOfClusterings(ClusteredFCM):
    """k-means over converged local fuzzy centres; the framework's settings."""

    max_rounds: Annotated[int, Role.FREE] = 30
    local_steps: Annotated[int, Work(10_000)] = 1000
    seed_once: bool = True

    key: ClassVar[str] = "c2f-fcm"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "baseline": {  # as the LLF paper compares with it: one plain k-means++ start, 30 rounds
            "restarts": 1,
            "greedy": False,
            "min_count": 1,
            "tol": 0.0,
        }
    }
    use_for: ClassVar[str] = "Use it to compare with its paper. Otherwise prefer llf-fcm or ffcf."
