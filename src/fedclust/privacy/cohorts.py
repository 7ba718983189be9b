"""Which cohorts the totals of one data set may be over.

Two totals over different cohorts differ by the total of the clients that are in one of them only.
The cohorts of a data set therefore form a chain: of any two, one contains the other, has fewer
than twice its members, and at least `least` members more. Every total that can be computed from
totals over a chain is over at least `least` clients (docs/privacy-engineering.md has the proof).
"""

from collections.abc import Collection, Iterable

from .crypto import digest


def find_conflict(cohort: Collection[str], earlier: Iterable[Collection[str]], least: int) -> str:
    """Why a total over this cohort would reveal too much beside earlier ones; empty if it fits."""
    wanted = frozenset(cohort)
    for other in map(frozenset, earlier):
        small, large = sorted((wanted, other), key=len)
        if small == large:
            continue
        if not small < large:
            return "its clients are neither all of an earlier cohort nor only some of it"
        if 2 * len(small) <= len(large):
            return "one of the two cohorts has no more than half of the clients of the other"
        if len(large) - len(small) < least:
            return (
                f"it differs from an earlier cohort by {len(large) - len(small)} clients, whose "
                f"own sums would be the difference; at least {least} are needed"
            )
    return ""


def remain_without(
    silent: Collection[str], cohort: Collection[str], least: int, salt: bytes
) -> tuple[str, ...]:
    """The clients that can go on when some are silent; empty if too few would be left.

    No fewer than `least` clients leave, so that the difference of two totals is never the sum of
    fewer. The clients that leave with the silent ones are drawn by a hash, not by the server.
    """
    others = sorted(set(cohort) - set(silent), key=lambda c: digest(salt, c.encode()))
    extra = max(0, least - len(silent))
    left = tuple(sorted(others[extra:]))
    return () if len(left) < least or find_conflict(left, [cohort], least) else left
