"""The local steps over rows on a device; the `.cu` files hold the kernels.

A step over few features and clusters is one kernel that reads every row once. Other steps are
several kernels, with memory for some rows times clusters, which does not grow with the rows.
"""

from .fuzzy import fuzzy_sums, memberships
from .hard import MOST_CLUSTERS, hard_sums, nearest

__all__ = ["MOST_CLUSTERS", "fuzzy_sums", "hard_sums", "memberships", "nearest"]
