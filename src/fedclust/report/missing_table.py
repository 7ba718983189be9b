"""Which share of each column is missing at each client, as a table that fits on paper."""

from collections.abc import Sequence
from dataclasses import dataclass

from .amounts import DASH, share
from .features import Feature
from .folder import RunFiles

_ACROSS = 8  # as many clients fit beside each other


@dataclass(frozen=True)
class MissingTable:
    """One row for each column; with many clients, one for each client."""

    corner: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def missing_table(run: RunFiles, features: Sequence[Feature]) -> MissingTable | None:
    """The table; None if rows are complete, or the tier hides what is missing."""
    missing = run.profile.missing
    if missing is None:
        return None
    first = {feature.source: i for i, feature in reversed(list(enumerate(features)))}
    places = sorted(first.values())  # the categories of a column are missing together
    columns = tuple(features[i].source for i in places)
    clients = tuple(missing.shares)
    words = [tuple(_words(missing.shares[client][i]) for i in places) for client in clients]
    if len(clients) > _ACROSS:
        return MissingTable("client", columns, tuple(zip(clients, words, strict=True)))
    turned = list(zip(*words, strict=True))
    return MissingTable("column", clients, tuple(zip(columns, turned, strict=True)))


def _words(found: float | None) -> str:
    return DASH if found is None else share(found)
