"""From what clients have to what can be clustered: one scale for all, learned from all."""

from typing import NamedTuple

import numpy as np

from ..core import Channel, DataError, Runner, Schema
from ..preprocessing import Preparation, by_bounds, prepare_over
from ..privacy import Tier
from .clients import Clients
from .file import Study
from .preflight import Seen


class Ready(NamedTuple):
    """Clients that can be asked."""

    preparation: Preparation
    channel: Channel
    schema: Schema
    used: dict[str, int]  # rows of each client that take part


def make_ready(study: Study, clients: Clients, seen: Seen, tier: Tier, runner: Runner) -> Ready:
    """One scale for all, learned from all, and every client's rows on it."""
    if tier.sums_only:  # a scale that is learned would show every client's own sums
        ready = by_bounds(seen.columns)
    else:
        ready = prepare_over(
            seen.columns,
            clients.encoded(seen.columns),
            scaling=study.data["scaling"] or "standard",
            missing=study.data["missing"],
            min_count=study.privacy["min_count"],
            privacy=tier,
            runner=runner,
        )
    taking_part = {client: counted.used(ready) for client, counted in seen.counts.items()}
    wanted, there = study.n_clusters[0], sum(taking_part.values())
    if there < wanted:
        raise DataError(
            f"{there} rows without gaps cannot make n_clusters = {wanted}; choose fewer clusters, "
            'or missing = "mean"'
        )
    return Ready(ready, clients.prepared(ready), _schema(ready), taking_part)


def _schema(ready: Preparation) -> Schema:
    """With public bounds if every column has some: starts that are drawn need them."""
    box = []
    for column in ready.columns:
        if column.categories:
            box += [(0.0, 1.0)] * len(column.categories)
        elif column.low is not None and column.high is not None:
            bounds = np.array([column.low, column.high])
            box.append(tuple(np.log(bounds) if column.log else bounds))
    if len(box) < len(ready.names):
        return Schema(len(ready.names))
    low, high = (np.array(box).T - ready.offset) / ready.scale
    return Schema(len(ready.names), low=low, high=high)
