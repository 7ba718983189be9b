"""The run as a whole: part of model.json, and history.jsonl."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class PrivacyRecord:
    """The privacy tier of a run, and what it guarantees."""

    tier: str
    guarantee: str  # in words
    parameters: Mapping[str, Any]
    epsilon_spent: float | None = None  # only where noise was drawn again after an interruption
    scales_by_bounds: bool = False  # because of the tier, instead of by mean and spread
    start: str = ""  # the seeding that the tier puts in place of the algorithm's own
    publishes_all: bool = True  # results have all digits, also of few rows
    advice: str = ""  # when to use another tier

    @property
    def effect(self) -> str:
        """How the tier changes what is computed, in words; empty if it does not."""
        parts = []
        if self.scales_by_bounds:
            parts.append(
                "columns are scaled by their bounds instead of by mean and standard deviation"
            )
        if self.start:
            how = "a summary" if self.start == "summary" else f"the seeding {self.start!r}"
            parts.append(f"the initial centres come from {how}")
        if not parts:
            return ""
        return (
            f"With tier {self.tier!r}, {' and '.join(parts)}, so clusters may differ from those "
            "of tier 'none'."
        )


@dataclass(frozen=True, kw_only=True)
class RunDescription:
    """What is known of a run besides its clusters, alike for split rows and split columns."""

    fedclust: str  # the version
    created: str  # ISO 8601
    run_id: str = ""  # part of the names of label files
    study: str  # the name of the study file, without its ending
    study_hash: str = ""  # of the study that all clients followed; empty: they followed none
    settings: Mapping[str, Any]  # of the algorithm, its initialization included
    lossless: bool  # equal to the result of the same algorithm on one table
    soft: bool  # memberships rather than labels
    inertia: float | None  # None where it would cost privacy
    rounds: int
    converged: bool
    ended_by_tier: bool  # the tier allowed no more rounds
    caveat: str  # what limits the use of the result; mostly empty
    privacy: PrivacyRecord
    seed: int | None
    matched_run: str | None  # the study of the earlier run whose cluster numbers were kept
    versions: Mapping[str, str]  # of Python and libraries
    bytes_sent: Mapping[str, int]  # by client, in all runs of the study


@dataclass(frozen=True)
class RoundRecord:
    """One line of history.jsonl."""

    round: int
    n_clients: int
    shift: float | None  # how far the centres moved; None where there is nothing to compare
    bytes_down: int
    bytes_up: int
