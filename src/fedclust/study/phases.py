"""The phases of a study, as users read them."""

from collections.abc import Callable
from enum import StrEnum


class Phase(StrEnum):
    """A phase of a study, in the order in which they come."""

    READING = "reading files"
    ALIGNING = "aligning records"  # over split columns
    SCALING = "scaling columns"
    CHOOSING = "choosing k"
    CLUSTERING = "clustering"
    COMPARING = "comparing with pooled rows"
    DESCRIBING = "describing clusters"
    LABELLING = "writing labels"


OnPhase = Callable[[Phase], object]  # called when a phase begins
