"""Federated choice of the number of clusters: a sweep, its evidence, and a recommendation."""

from .choosing import choose
from .score import Choice, Score

__all__ = ["Choice", "Score", "choose"]
