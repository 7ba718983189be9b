"""Pictures of a clustering, in the look of the report; they need ``fedclust[plot]``.

Each picture is a class after scikit-learn's displays: ``from_run`` takes the folder of a run,
``from_estimator`` a fitted estimator, and ``plot`` draws into given axes.
"""

from .clusters import MapDisplay, ProfileDisplay
from .dendrogram import DendrogramDisplay
from .runs import ConvergenceDisplay, DisclosureDisplay, EvidenceDisplay

__all__ = [
    "ConvergenceDisplay",
    "DendrogramDisplay",
    "DisclosureDisplay",
    "EvidenceDisplay",
    "MapDisplay",
    "ProfileDisplay",
]
