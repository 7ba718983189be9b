"""The choice of the number of clusters: choice.json."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ScoreRecord:
    """The evidence for one number of clusters."""

    n_clusters: int
    indices: Mapping[str, float | None]  # None: could not be measured


@dataclass(frozen=True, kw_only=True)
class ChoiceRecord:
    """The recommended number of clusters and the evidence for it."""

    recommended: int
    why: str
    weak: bool  # there may be no clusters at all; `why` says what is missing
    scores: tuple[ScoreRecord, ...]  # ascending
    favourites: Mapping[str, int]  # the number that each index alone would choose

    @property
    def measured(self) -> tuple[str, ...]:
        """The indices that have at least one value."""
        names = dict.fromkeys(
            name for s in self.scores for name, value in s.indices.items() if value is not None
        )
        return tuple(names)
