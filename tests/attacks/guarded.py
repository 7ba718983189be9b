"""What a server that chooses its queries gets from rows, and from the means of groups of rows.

One client of 60 rows answers everything; in the tier `guarded` it computes with means of fixed
groups. ``python -m tests.attacks.guarded`` prints the table of docs/privacy.md.
"""

from collections.abc import Callable, Iterator

import numpy as np

from fedclust.algorithms import make
from fedclust.core import Transform
from fedclust.privacy import GroupedRows
from fedclust.typing import FloatArray

from . import fuzzy_system
from .followed import DATA, WITHIN, Found
from .hostile import (
    OPEN,
    Victim,
    crafted_centers,
    from_counts_that_differ_by_one,
    outermost_records,
    table_of,
)
from .server import exact

GROUPED: tuple[Transform, ...] = (GroupedRows(5),)  # and no limit of queries
N_ROWS, N_FUZZY = 60, 10


def other_seeds(victim: Victim) -> FloatArray:
    """Local centres of fifty seeds and several numbers of clusters, and their differences."""
    found = []
    for key in ("one-shot", "k-fed"):
        looks = []
        for seed in range(50):
            sent = victim.ask(make(key, 2 + seed % 7), seed)
            looks.append((sent.weight, sent.centers * sent.weight[:, None]))
        found.append(from_counts_that_differ_by_one(looks))
    return np.vstack(found)


def fuzzy_plans(victim: Victim) -> FloatArray:
    """The equations of fourteen fuzzy plans of one round each."""
    rng = np.random.default_rng(0)
    centers = [rng.random((3, victim.F)) for _ in range(14)]
    looks = [look for c in centers if (look := victim.sums(c, "llf-fcm")) is not None]
    return fuzzy_system.recovered(looks, victim.n, starts=2)


def kinks_of_inertia(victim: Victim) -> FloatArray:
    """The outermost records along three directions."""
    return outermost_records(victim, 0, 3)


def sums_at_crafted_centers(victim: Victim) -> FloatArray:
    """Differences of sums at eighty sets of centres."""
    X = victim.data.X
    looks = [look for c in crafted_centers(X, 80, seed=0) if (look := victim.sums(c)) is not None]
    return from_counts_that_differ_by_one([(look.count, look.total) for look in looks])


ATTACKS: dict[str, Callable[[Victim], FloatArray]] = {
    "other seeds of one-shot algorithms": other_seeds,
    "fuzzy sums of many plans, ten rows": fuzzy_plans,
    "kinks of the inertia": kinks_of_inertia,
    "sums at crafted centres": sums_at_crafted_centers,
}


def rows_for(attack: str, name: str) -> FloatArray:
    """The client's rows; equations of fuzzy sums are solved for few of them."""
    if ATTACKS[attack] is fuzzy_plans:
        return np.ascontiguousarray(table_of(name, N_FUZZY)[:, ::3])
    return table_of(name, N_ROWS)


def recover(attack: str, name: str, transforms: tuple[Transform, ...]) -> Found:
    """Records that an attack gets."""
    X = rows_for(attack, name)
    found = ATTACKS[attack](Victim(X, transforms))
    return Found(*(exact(found, X, within) for within in WITHIN))


def lines(names: tuple[str, ...] = tuple(DATA)) -> Iterator[str]:
    """The table, as Markdown."""
    yield "| attack | data | rows | answers about rows | `guarded` |"
    yield "|---|---|---|---|---|"
    for attack in ATTACKS:
        for name in names:
            found = (recover(attack, name, transforms) for transforms in (OPEN, GROUPED))
            cells = " | ".join(f"{one.exact} ({one.near})" for one in found)
            yield f"| {attack} | {name} | {len(rows_for(attack, name))} | {cells} |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)  # noqa: T201
