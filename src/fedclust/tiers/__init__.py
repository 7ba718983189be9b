"""Tiers: one name for all that protects a run, and what it guarantees."""

from .base import Guarantee, StudySettings, Tier
from .dp import Private, SecurePrivate
from .guarded import Guarded
from .lookup import (
    TIERS,
    Privacy,
    guarantee,
    register_tier,
    tier_of,
    transforms_for,
    unregister_tier,
)
from .open import Paper, Unprotected
from .secure import Secure

__all__ = [
    "Guarantee",
    "Guarded",
    "Paper",
    "Privacy",
    "Private",
    "Secure",
    "SecurePrivate",
    "StudySettings",
    "TIERS",
    "Tier",
    "Unprotected",
    "guarantee",
    "register_tier",
    "tier_of",
    "transforms_for",
    "unregister_tier",
]
