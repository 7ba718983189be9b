"""From what clients have to what can be clustered: one scale for all, learned from all."""

from collections.abc import Iterable
from typing import NamedTuple

from ..clustering.preparation import Preparation, by_bounds, prepare_over
from ..core import Channel, DataError, Runner, Schema
from ..tiers import Tier
from .pool.local_rows import Clients
from .preflight import Seen
from .settings import Study


class Ready(NamedTuple):
    """Clients that can be asked."""

    preparation: Preparation
    channel: Channel
    schema: Schema
    used: dict[str, int | None]  # rows of each client that take part, as far as that is told


def make_ready(study: Study, clients: Clients, seen: Seen, tier: Tier, runner: Runner) -> Ready:
    """One scale for all, learned from all, and every client's rows on it."""
    if tier.sums_only:  # a scale that is learned would show every client's own sums
        ready = by_bounds(seen.columns)
    else:
        ready = prepare_over(
            seen.columns,
            clients.encoded(seen.columns),
            scaling=study.data.scaling or "standard",
            missing=study.data.missing,
            min_count=study.privacy.min_count,
            privacy=tier,
            runner=runner,
        )
    taking_part = {c: counted and counted.used(ready) for c, counted in seen.counts.items()}
    wanted, there = study.n_clusters[0], total(taking_part.values())
    if there is not None and there < wanted:
        raise DataError(
            f"{there} rows without gaps cannot make n_clusters = {wanted}; choose fewer clusters, "
            'or missing = "mean"'
        )
    channel = tier.channel(clients.prepared(ready))  # keys are exchanged once for all questions
    return Ready(ready, channel, ready.schema(), taking_part)


def total(counts: Iterable[int | None]) -> int | None:
    """The sum, unless one of them is not told."""
    known = list(counts)
    return None if None in known else sum(n or 0 for n in known)
