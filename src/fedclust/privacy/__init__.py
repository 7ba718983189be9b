"""Transforms that stand between a client's message and the wire."""

from .fixed_point import FixedPoint
from .rules import PRIVACY, transforms_for
from .suppression import MinCount, MinSamples

__all__ = ["FixedPoint", "MinCount", "MinSamples", "PRIVACY", "transforms_for"]
