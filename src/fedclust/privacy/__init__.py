"""Mechanisms between a client's message and the wire, and what a client remembers of them."""

from .fixed_point import FixedPoint
from .grouped_rows import GroupedRows
from .keyring import stored_identity
from .ledger import Ledger
from .masking import PairwiseMasks
from .noise import IntegerGaussian
from .plausible import CheckedChannel
from .policy import ClientPolicy, Limits, QueryLimit
from .secure_channel import SecureChannel
from .suppression import MinCount, MinSamples

__all__ = [
    "CheckedChannel",
    "FixedPoint",
    "GroupedRows",
    "ClientPolicy",
    "IntegerGaussian",
    "Ledger",
    "MinCount",
    "MinSamples",
    "PairwiseMasks",
    "QueryLimit",
    "Limits",
    "SecureChannel",
    "stored_identity",
]
