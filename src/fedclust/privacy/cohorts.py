"""Which cohorts the totals of one data set may be over.

Two totals over different cohorts differ by the total of the clients that are in one of them only.
Each client therefore takes part in a chain of cohorts of at least `least` clients. Of any two, one
contains the other, and they differ by at least `least` clients. The smaller one is so large that
any two such cohorts within the larger one share at least `least` - 1 clients. Every total that can
be computed from totals over such cohorts is over at least `least` clients, even if no client knows
of all cohorts (docs/privacy-engineering.md has the proof).
"""

from collections.abc import Collection, Iterable, Sequence

from .crypto import digest


def find_conflict(cohort: Collection[str], earlier: Iterable[Collection[str]], least: int) -> str:
    """Why a total over this cohort would reveal too much beside earlier ones; empty if it fits."""
    wanted = frozenset(cohort)
    if len(wanted) < least:
        return f"{len(wanted)} clients are too few to hide among; at least {least} are needed"
    for other in map(frozenset, earlier):
        small, large = sorted((wanted, other), key=len)
        if small == large:
            continue
        if not small < large:
            return "its clients are neither all of an earlier cohort nor only some of it"
        if len(large) - len(small) < least:
            return (
                f"it differs from an earlier cohort in {len(large) - len(small)} of its clients, "
                f"whose own sums would be the difference; at least {least} are needed"
            )
        if len(small) < (needed := _smallest_within(len(large), least)):
            return (
                f"one of the two cohorts has {len(small)} of the {len(large)} clients of the "
                f"other; at least {needed} are needed, so that any two such cohorts share clients"
            )
    return ""


def _smallest_within(size: int, least: int) -> int:
    """The fewest members of a subset, so that any two of them share at least `least` - 1."""
    return -(-(size + least - 1) // 2)


def remain_without(
    silent: Collection[str], cohorts: Sequence[Collection[str]], least: int, salt: bytes
) -> tuple[str, ...]:
    """The clients of the last cohort that can go on without some; empty if too few would be left.

    No fewer than `least` clients leave, so that the difference of two totals is never the sum of
    fewer. All clients draw the same ones to leave with the silent ones, by a hash.
    """
    cohort = set(cohorts[-1])
    others = sorted(cohort - set(silent), key=lambda client: digest(salt, client.encode()))
    extra = max(0, least - len(cohort & set(silent)))
    left = tuple(sorted(others[extra:]))
    return () if find_conflict(left, cohorts, least) else left
