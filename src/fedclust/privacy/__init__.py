"""Transforms that stand between a client's message and the wire, and the tiers they make."""

from .fixed_point import FixedPoint
from .guard import ChangeGuard
from .guarded_tier import Guarded
from .keyring import stored_identity
from .ledger import Ledger
from .lookup import PRIVACY, TIERS, Privacy, guarantee, tier_of, transforms_for
from .masking import PairwiseMasks
from .noise import IntegerGaussian
from .noisy_tiers import Private, SecurePrivate
from .plausible import CheckedChannel
from .policy import ClientPolicy, Limits, QueryLimit
from .secure_channel import SecureChannel
from .suppression import MinCount, MinSamples
from .tiers import Guarantee, Paper, Secure, Tier, Unprotected

__all__ = [
    "ChangeGuard",
    "CheckedChannel",
    "FixedPoint",
    "ClientPolicy",
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
    "Guarantee",
    "QueryLimit",
    "Limits",
    "Secure",
    "SecureChannel",
    "SecurePrivate",
    "TIERS",
    "Tier",
    "Unprotected",
    "guarantee",
    "stored_identity",
    "tier_of",
    "transforms_for",
]
