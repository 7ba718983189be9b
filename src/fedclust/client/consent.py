"""What a client allows: every request is held against client.toml before any row is touched."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..algorithms import ALGORITHMS
from ..algorithms.bounded_c_means import BoundedCMeans
from ..algorithms.c_means import CMeans
from ..algorithms.cell_seeding import CellSeeding
from ..algorithms.fuzzy_c_means import FuzzyCMeans
from ..clustering.preparation import Column
from ..core import AnyAlgorithm, ConfigError, Plan, Record, Request, Schema, Stage
from ..privacy import FixedPoint, Guarded, Ledger, Tier, tier_of
from ..privacy.fixed_point import MAX_RECORDS
from .config import ClientConfig

# What algorithms call the number of records that must stand behind a part of their message.
_COUNTS = ("min_count", "neighbours")


# What a client computes in a round is bounded, whatever it is asked.
_WORK = {"local_steps": 10_000, "steps": 10_000, "local_restarts": 100, "max_features": 10_000}
_OVER_GAPS = ("moments", "histogram", "median-of-means")  # statistics count the values there are
_MOST_NAMES = 1_000  # of clients in a cohort
_NOISED: tuple[Any, ...] = (BoundedCMeans,)  # what the lossless algorithms become under noise


class Refused(ConfigError):
    """A request that the client's own file does not allow."""


def allow_caller(file: ClientConfig, study: str, author: str) -> None:
    """Refuse studies and authors that are not listed."""
    consent = file.consent
    if consent.studies and study not in consent.studies:
        raise Refused(f"client.toml does not list study {study!r} under studies")
    if consent.authors and author not in consent.authors:
        raise Refused(f"client.toml does not list author {author!r} under authors")


def allow_columns(file: ClientConfig, names: Iterable[str]) -> None:
    """Refuse columns that are not listed, and the id column always."""
    allowed, id = file.consent.columns, file.data.id
    for name in names:
        if name == id or (allowed and name not in allowed):
            raise Refused(f"client.toml does not allow the column {name!r}")


def allow_descriptions(file: ClientConfig, ledger: Ledger, columns: Sequence[Column]) -> None:
    """Refuse yet other bounds or categories of a column: each tells whether its values fit."""
    most = file.consent.max_descriptions
    for c in columns:
        if c.categories or c.log or c.low is not None:
            words = json.dumps([c.low, c.high, c.log, *c.categories])
            ledger.describe(c.name, words, most=most)


def allow_plan(file: ClientConfig, plan: Plan, n_features: int, answered: int) -> None:
    """Refuse algorithms, settings and tiers beyond what is allowed."""
    algorithm, consent = plan.algorithm, file.consent
    key = algorithm.key
    if algorithm.partition != "horizontal":
        raise Refused(f"{key} is not answered over a network: its messages are not of rows")
    _allow_algorithm(file, algorithm)
    if answered >= consent.max_rounds:
        raise Refused(f"client.toml allows max_rounds = {consent.max_rounds}")
    _allow_settings(file, algorithm)
    seen = plan
    if consent.epsilon is None:  # noise of which nobody limits the cost may be none
        kept = tuple(t for t in plan.transforms if t.stage != Stage.NOISE)
        seen = Plan(algorithm, kept, plan.seed)
    lacking = (
        demanded(file).missing_protection(seen, Schema(n_features)) if algorithm.reads_rows else ""
    )
    if lacking:
        raise Refused(
            f"{key} came without what client.toml demands by privacy = "
            f'"{consent.privacy}" ({lacking}); set [privacy] tier in the study'
        )


def demanded(file: ClientConfig) -> Tier:
    """The least tier of a plan; how many questions is the client's own number, and its gate's."""
    if file.consent.privacy == Guarded.name:
        return Guarded(max_queries=file.consent.max_queries)
    return tier_of(file.consent.privacy)


def allow_bounds(plan: Plan, down: Record, schema: Schema) -> None:
    """Refuse grids and centres beyond the bounds that the columns were described with.

    A refusal tells whether rows fit a grid, so nobody may try out one after the other.
    """
    low, high = schema.low, schema.high
    for grid in plan.transforms:
        if not isinstance(grid, FixedPoint):
            continue
        if low is None or high is None or len(grid.low) != len(low):
            raise Refused("sums in whole numbers need public bounds of all columns")
        narrow = (grid.low > low).any() or (grid.high < high).any()
        if narrow or grid.max_records < MAX_RECORDS or grid.max_weight != 1.0:
            raise Refused("the grid is narrower than the public bounds, or of fewer records")
    centers = getattr(down, "centers", None)
    if centers is not None and low is not None and high is not None:
        # Means of rows are within; steps of other algorithms may go beyond, but not far.
        means = isinstance(plan.algorithm, CMeans | FuzzyCMeans)
        room = (high - low) * (1e-6 if means else 1.0)
        if not ((centers >= low - room) & (centers <= high + room)).all():
            raise Refused("centres outside the public bounds ask about single records")


def allow_key(file: ClientConfig, key: str) -> None:
    """Refuse a study whose algorithm is not listed, when it first looks at the data."""
    listed = file.consent.algorithms
    if listed and key not in listed:
        raise Refused(f"client.toml does not list {key!r} under algorithms")


def _allow_algorithm(file: ClientConfig, algorithm: AnyAlgorithm) -> None:
    """Of what clusters only the listed; scales, starts and scores go with them."""
    listed = tuple(ALGORITHMS[key] for key in file.consent.algorithms)
    if set(listed) & {CMeans, FuzzyCMeans}:
        listed += _NOISED
    if not listed or isinstance(algorithm, listed):
        return
    if isinstance(algorithm, (*ALGORITHMS.values(), *_NOISED)):
        raise Refused(f"client.toml does not list {algorithm.key!r} under algorithms")


def allow_form(plan: Plan, prepared: bool) -> None:
    """Refuse all but statistics over rows that have gaps: nothing else knows what to do there."""
    if not prepared and plan.algorithm.reads_rows and plan.algorithm.key not in _OVER_GAPS:
        raise Refused(f"{plan.algorithm.key} needs rows that are prepared, without gaps")


def allow_cohort(request: Request) -> None:
    """Refuse more names than any federation has: what a sum may hold depends on their number."""
    if len(request.cohort) > _MOST_NAMES:
        raise Refused(f"a cohort of more than {_MOST_NAMES:,} is none")


def _allow_settings(file: ClientConfig, algorithm: AnyAlgorithm) -> None:
    settings, consent = vars(algorithm), file.consent
    for name in ("n_clusters", "n_local"):
        _at_most(settings, name, consent.max_clusters, "max_clusters")
    for name in ("init", "first", "second"):
        if isinstance(settings.get(name), np.ndarray):
            sizes = {name: len(settings[name])}
            _at_most(sizes, name, consent.max_clusters, "max_clusters")
    for name, most in _WORK.items():
        _at_most(settings, name, most, name)
    along = {"cells": algorithm.per_direction} if isinstance(algorithm, CellSeeding) else settings
    for name in ("n_bins", "cells"):
        _at_most(along, name, consent.max_bins, "max_bins")
    for name in _COUNTS:
        found = settings.get(name)
        if found is not None and found < consent.min_count:
            raise Refused(
                f"{algorithm.key}: {name} = {found}, client.toml allows min_count = "
                f"{consent.min_count} or more"
            )


def _at_most(settings: Mapping[str, Any], name: str, most: int, key: str) -> None:
    if (settings.get(name) or 0) > most:  # None: as many as its default is
        raise Refused(f"{name} = {settings[name]}, this client allows {key} = {most}")
