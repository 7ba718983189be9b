"""Problems with a client's data, as values: a code, a public part, a private part.

Only the code and the column's name ever leave a client, and the name only if the request gave it.
The public text follows from the code, so it cannot contain values. The detail (counts, values,
paths) is for the client's own console and log.
"""

from collections.abc import Mapping
from dataclasses import dataclass

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
    "out-of-bounds": "has values outside the public bounds",
    "no-rows": "there are no rows",
    "few-rows": "there are very few rows",
    "id-missing": "the id column does not exist",
    "id-repeated": "several rows have the same id",
    "id-unusable": "the ids cannot be used to align records",
    "same-file": "another client has the same file",
    "no-shared-column": "no numeric column is shared by all clients",
    "too-few-rows": "all clients together have fewer rows than clusters",
    "below-minimum": "all clients together have fewer rows than min_count",
    "small-clients": "every client has fewer rows than min_count",
    "needs-memory": "the study needs all rows in memory",
    "no-features": "none of the study's features is among its columns",
    "two-owners": "two clients have a column of this name",
    "no-owner": "no client has this column",
    "columns-mismatch": "the clients' columns are not those that the study lists",
}
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
        who = "" if self.client == ALL else f"client {self.client!r}: "
        where = f"column {self.column!r}: " if self.column else ""
        return f"{who}{where}{self.text}"
