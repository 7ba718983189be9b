"""Transforms that stand between a client's message and the wire, and the tiers they make."""

from .fixed_point import FixedPoint
from .gate import Gate, Released, Rules
from .guard import ChangeGuard
from .guarded_tier import Guarded
from .keyring import stored_identity
from .ledger import Ledger
from .masking import PairwiseMasks
from .noise import IntegerGaussian
from .noisy_tiers import Private, SecurePrivate
from .plausible import CheckedChannel
from .rules import PRIVACY, TIERS, Privacy, promise, tier_of, transforms_for
from .secure_channel import SecureChannel
from .suppression import MinCount, MinSamples
from .tiers import Paper, Promise, Secure, Tier, Unprotected

__all__ = [
    "ChangeGuard",
    "CheckedChannel",
    "FixedPoint",
    "Gate",
    "Guarded",
    "IntegerGaussian",
    "Ledger",
    "MinCount",
    "MinSamples",
    "PRIVACY",
    "PairwiseMasks",
    "Paper",
    "Privacy",
    "Private",
    "Promise",
    "Released",
    "Rules",
    "Secure",
    "SecureChannel",
    "SecurePrivate",
    "TIERS",
    "Tier",
    "Unprotected",
    "promise",
    "stored_identity",
    "tier_of",
    "transforms_for",
]
