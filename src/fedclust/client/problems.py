"""Problems with a client's data, as values: a code, a public part, a private part.

Only the code and the column's name ever leave a client, and the name only if the request gave it.
The public text follows from the code, so it cannot contain values. The detail (counts, values,
paths) is for the client's own console and log.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..clustering.preparation.column import UNUSABLE

ALL = "all"  # the client of a problem that no single client has
PUBLIC: Mapping[str, str] = {
    **UNUSABLE,
    "unreadable": "its data files cannot be read",
    "column-missing": "the column does not exist",
    "all-missing": "has no values",
    "mostly-missing": "is missing in most rows",
    "constant": "has the same value in all rows",
    "overflow": "has values so large that their squares overflow",
    "out-of-bounds": "has values outside the public bounds; correct them, or widen low and high",
    "no-rows": "there are no rows",
    "few-rows": "there are very few rows",
    "id-missing": "the id column does not exist",
    "summary-row": "the last row looks like a total or is almost empty; remove it from the file",
    "category-missing": "a category is also read as a missing value; set keep_default_na = false "
    "under [data]",
    "id-feature": "is the id column, and also listed under [features]; leave it out there",
    "id-repeated": "several rows have the same id",
    "id-unusable": "the ids cannot be used to align records",
    "same-file": "another client has the same file",
    "no-shared-column": "no numeric column is shared by all clients",
    "too-few-rows": "all clients together have fewer rows than clusters; lower n_clusters",
    "below-minimum": "all clients together have fewer rows than min_count",
    "small-clients": "every client has fewer rows than min_count",
    "extra-missing": "the run needs packages that are not installed",
    "needs-memory": "the study needs all rows in memory",
    "no-features": "none of the study's features is among its columns",
    "two-owners": "two clients have a column of this name",
    "no-owner": "no client has this column",
    "columns-mismatch": "the clients' columns are not those that the study lists",
}
_NAMED = 2  # clients that a message about several of them names
_UNKNOWN = "has a problem that this version of fedclust does not know"


@dataclass(frozen=True)
class Problem:
    """A problem with a client's data; one that is not blocking is a warning."""

    client: str
    code: str
    column: str = ""
    detail: str = ""  # private: stays with the client
    blocking: bool = True

    @property
    def public(self) -> str:
        """The text that others may read; it depends on the code alone."""
        return PUBLIC.get(self.code, _UNKNOWN)

    @property
    def text(self) -> str:
        """The whole text, for people who may see the data."""
        return f"{self.public} ({self.detail})" if self.detail else self.public

    def __str__(self) -> str:
        return str(ProblemGroup((self.client,), self))


class ProblemGroup(NamedTuple):
    """The same problem of several clients."""

    clients: tuple[str, ...]
    problem: Problem  # of the first of them

    def name_clients(self, quote: Callable[[str], str] = repr) -> str:
        """The first clients by name, and how many others there are."""
        if len(self.clients) <= _NAMED + 1:
            return ", ".join(map(quote, self.clients))
        first = ", ".join(map(quote, self.clients[:_NAMED]))
        return f"{first} and {len(self.clients) - _NAMED} others"

    def __str__(self) -> str:
        problem = self.problem
        noun = "client" if len(self.clients) == 1 else "clients"
        who = "" if self.clients == (ALL,) else f"{noun} {self.name_clients()}: "
        where = f"column {problem.column!r}: " if problem.column else ""
        return f"{who}{where}{problem.text}"


def group_problems(problems: Iterable[Problem]) -> list[ProblemGroup]:
    """Equal problems of several clients as one, in the order of the first.

    Where many clients have the same problem with other details, such as other lines of their
    files, one group has the details of the first.
    """
    alike: dict[Problem, list[Problem]] = {}
    for problem in problems:
        alike.setdefault(replace(problem, client="", detail=""), []).append(problem)
    return [group for same in alike.values() for group in _group_by_detail(same)]


def _group_by_detail(problems: list[Problem]) -> list[ProblemGroup]:
    """Groups of problems that differ in nothing but clients and details."""
    groups: dict[str, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.detail, []).append(problem)
    if len(groups) <= _NAMED + 1:
        return [ProblemGroup(tuple(p.client for p in same), same[0]) for same in groups.values()]
    first = problems[0]
    detail = f"{first.client}: {first.detail}; similar at the others: fedclust check --json"
    clients = tuple(problem.client for problem in problems)
    return [ProblemGroup(clients, replace(first, detail=detail))]
