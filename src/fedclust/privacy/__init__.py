"""Transforms that stand between a client's message and the wire."""

from .rules import PRIVACY, transforms_for
from .suppression import MinCount, MinSamples

__all__ = ["MinCount", "MinSamples", "PRIVACY", "transforms_for"]
