"""Algorithms and seedings by their keys.

>>> make("llf-fcm", n_clusters=3, fuzzifier=1.5).fuzzifier
1.5
>>> make("dwf", n_clusters=3, preset="reference").learning_rate
0.01
"""

from .registry import (
    ALGORITHMS,
    SEEDINGS,
    VERTICAL,
    VERTICAL_SEEDINGS,
    from_config,
    make,
    make_seeding,
    register,
    register_transform,
    unregister,
    unregister_transform,
)

__all__ = [
    "ALGORITHMS",
    "SEEDINGS",
    "VERTICAL",
    "VERTICAL_SEEDINGS",
    "from_config",
    "make",
    "make_seeding",
    "register",
    "register_transform",
    "unregister",
    "unregister_transform",
]
