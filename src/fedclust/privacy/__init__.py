"""Transforms that stand between a client's message and the wire."""

from .fixed_point import FixedPoint
from .gate import Gate, Rules
from .masking import PairwiseMasks
from .rules import PRIVACY, transforms_for
from .secure_channel import SecureChannel
from .suppression import MinCount, MinSamples

__all__ = [
    "FixedPoint",
    "Gate",
    "MinCount",
    "MinSamples",
    "PRIVACY",
    "PairwiseMasks",
    "Rules",
    "SecureChannel",
    "transforms_for",
]
