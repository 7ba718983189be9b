"""Consent: every request is checked against client.toml before any row is read."""

import json
from collections.abc import Iterable
from typing import Any

from ..algorithms import VERTICAL
from ..algorithms.bounded import BoundedAlgorithm
from ..algorithms.range_counts import RangeCounts, RangeEdges
from ..algorithms.range_grid import log_edges
from ..algorithms.registry import clustering_keys
from ..clustering.preparation import Column
from ..clustering.preparation.statistics import Histogram
from ..core import (
    AnyAlgorithm,
    Code,
    Plan,
    Record,
    Refusal,
    Request,
    Role,
    Schema,
    Stage,
    Work,
)
from ..core.traits import Parameter, limited_parameters
from ..data.ids import secret_bytes
from ..privacy import FixedPoint, PairwiseMasks
from ..privacy.crypto import digest
from ..privacy.fixed_point import MAX_RECORDS
from ..tiers import Tier, tier_of
from .config import ClientConfig

_MAX_COHORT = 1_000  # clients

# The algorithm over split columns for each key that a study can give.
VERTICAL_KEYS = {"llf-cm": "vertical-llf-cm", "llf-fcm": "vertical-llf-fcm"}


class ConsentRefusal(Refusal):
    """A request that client.toml does not allow."""

    def __init__(self, text: str) -> None:
        super().__init__(text, code=Code.CONSENT)


def allow_caller(config: ClientConfig, study: str, author: str) -> None:
    """Refuse studies and authors that are not listed."""
    consent = config.consent
    if consent.studies and study not in consent.studies:
        raise ConsentRefusal(f"client.toml does not list study {study!r} under studies")
    if consent.authors and author not in consent.authors:
        raise ConsentRefusal(f"client.toml does not list author {author!r} under authors")


def allow_columns(config: ClientConfig, names: Iterable[str]) -> None:
    """Refuse columns that are not listed, and the id column always."""
    allowed, id = config.consent.columns, config.data.id
    for name in names:
        if name == id:
            raise ConsentRefusal(f"the column {name!r} is the id in client.toml, which is not used")
        if allowed and name not in allowed:
            raise ConsentRefusal(f"client.toml does not list the column {name!r} under columns")


def describe_columns(columns: Iterable[Column]) -> list[tuple[str, str]]:
    """Bounds and categories that columns are described with, by column."""
    return [
        (c.name, json.dumps([c.low, c.high, c.log, *([c.derive] if c.derive else c.categories)]))
        for c in columns
        if c.categories or c.log or c.low is not None or c.derive
    ]


def describe_edges(histogram: Histogram, columns: Iterable[Column]) -> list[tuple[str, str]]:
    """The edges of a histogram by column: counts beside many edges give values, as bounds do."""
    names = [name for column in columns for name in column.encoded_names]
    places = range(len(names)) if histogram.places is None else histogram.places
    edges = zip(places, histogram.low.tolist(), histogram.high.tolist(), strict=False)
    return [
        (f"histogram of {names[place]}", json.dumps([low, high, histogram.n_bins]))
        for place, low, high in edges
        if place < len(names)
    ]


def describe_range_edges(
    ranges: RangeCounts, down: RangeEdges, columns: Iterable[Column]
) -> list[tuple[str, str]]:
    """The edges of counts in bins by column; the first ones are the same in every study."""
    names = [name for column in columns for name in column.encoded_names]
    if down.edges.shape[1] == len(log_edges()) and (down.edges == log_edges()).all():
        return []
    return [
        (f"histogram of {names[place]}", digest(json.dumps(edges).encode()).hex())
        for place, edges in zip(ranges.places.tolist(), down.edges.tolist(), strict=True)
        if place < len(names)
    ]


def allow_rounds(config: ClientConfig, answered: int) -> None:
    """Refuse more rounds in a job than are allowed."""
    if answered >= config.consent.max_rounds:
        raise ConsentRefusal(f"client.toml allows max_rounds = {config.consent.max_rounds}")


def allow_plan(config: ClientConfig, plan: Plan, n_features: int) -> None:
    """Refuse algorithms, settings and tiers beyond what is allowed."""
    algorithm, consent = plan.algorithm, config.consent
    key = algorithm.key
    if algorithm.partition != "horizontal":
        raise ConsentRefusal(f"{key} does not run over split rows")
    _allow_algorithm(config, algorithm)
    masked = any(t.stage == Stage.MASK for t in plan.transforms)
    _allow_settings(config, algorithm, n_features, masked=masked)
    seen = plan
    kept = tuple(t for t in plan.transforms if t.stage != Stage.NOISE)
    if consent.epsilon is None and len(kept) < len(plan.transforms):
        seen = Plan(algorithm, kept, plan.seed)  # without a budget, noise protects nothing
    lacking = (
        required_tier(config).missing_protection(seen, Schema(n_features))
        if algorithm.traits.reads_rows
        else ""
    )
    if lacking:
        raise ConsentRefusal(
            f'{key} lacks {lacking}, required by privacy = "{consent.privacy}" in client.toml; set '
            "[privacy] tier in the study, or its owner sets another privacy in client.toml"
        )


def required_tier(config: ClientConfig) -> Tier:
    """The minimum tier of a plan; the client sets its own query limit."""
    return tier_of(config.consent.privacy).for_client(config.consent.max_queries)


def allow_bounds(plan: Plan, down: Record, schema: Schema) -> None:
    """Refuse grids and centres beyond the bounds that the columns were described with.

    A refusal shows whether rows fit a grid, so the server must not be able to try several. Noise
    is for sums of rows within the public bounds.
    """
    low, high = schema.low, schema.high
    if isinstance(plan.algorithm, BoundedAlgorithm):
        _allow_cube(plan.algorithm, schema)
    for grid in plan.transforms:
        if not isinstance(grid, FixedPoint):
            continue
        if low is None or high is None or len(grid.low) != len(low):
            raise ConsentRefusal("integer sums need public bounds for all columns")
        narrow = (grid.low > low).any() or (grid.high < high).any()
        if narrow or grid.max_records < MAX_RECORDS or grid.max_weight != 1.0:
            raise ConsentRefusal(
                "the grid is narrower than the public bounds, or allows too few records"
            )
    centers = getattr(down, "centers", None)
    if centers is not None and low is not None and high is not None:
        # Means of rows are within the bounds; steps of other algorithms may overshoot a little.
        room = (high - low) * (1e-6 if plan.algorithm.traits.means else 1.0)
        if not ((centers >= low - room) & (centers <= high + room)).all():
            raise ConsentRefusal("centres outside the public bounds could single out records")


def _allow_cube(algorithm: BoundedAlgorithm[Any, Any], schema: Schema) -> None:
    """Refuse sums of bounded influence over other bounds than those of the columns."""
    low, high = schema.low, schema.high
    if low is None or high is None or len(algorithm.low) != len(low):
        raise ConsentRefusal(f"{algorithm.key} needs public bounds for all columns")
    room = (high - low) * 1e-9
    if (algorithm.low < low - room).any() or (algorithm.high > high + room).any():
        raise ConsentRefusal(f"{algorithm.key}: bounds beyond the public bounds of the columns")


def allow_key(config: ClientConfig, key: str) -> None:
    """Refuse a preflight for an algorithm that is not listed."""
    listed = config.consent.algorithms
    if listed and key not in listed:
        raise ConsentRefusal(f"client.toml does not list {key!r} under algorithms")


def _allow_algorithm(config: ClientConfig, algorithm: AnyAlgorithm) -> None:
    """Refuse clustering algorithms that are not listed; scaling, seeding and scoring are free."""
    listed, keys = config.consent.algorithms, clustering_keys(type(algorithm))
    if listed and keys and not keys & set(listed):
        raise ConsentRefusal(f"client.toml does not list {algorithm.key!r} under algorithms")


def allow_form(plan: Plan, prepared: bool) -> None:
    """Refuse algorithms that cannot handle missing values, unless the rows are prepared."""
    traits = plan.algorithm.traits
    if not prepared and traits.reads_rows and not traits.missing:
        raise ConsentRefusal(f"{plan.algorithm.key} needs prepared rows, without missing values")


def allow_clusters(config: ClientConfig, n_clusters: int) -> None:
    """Refuse more clusters than client.toml allows."""
    most = config.consent.max_clusters
    if n_clusters > most:
        raise ConsentRefusal(f"n_clusters = {n_clusters}, client.toml allows max_clusters = {most}")


def allow_split_columns(config: ClientConfig) -> bytes:
    """The secret that clients over split columns share, if this client takes part at all."""
    if not config.consent.split_columns:
        raise ConsentRefusal(
            "client.toml does not allow studies over split columns; it needs split_columns = true"
        )
    for key, value in (("id", config.data.id), ("secret", config.data.secret)):
        if value is None:
            raise ConsentRefusal(f"client.toml needs {key} under [data] to align records")
    if config.data.batch_rows:
        raise ConsentRefusal(
            "client.toml: split columns need all rows in memory; leave out batch_rows"
        )
    return secret_bytes(str(config.data.secret))


def allow_vertical(config: ClientConfig, algorithm: AnyAlgorithm, answered: int) -> None:
    """Refuse algorithms, settings and tiers beyond what is allowed over split columns."""
    consent = config.consent
    listed = [VERTICAL_KEYS.get(key) for key in consent.algorithms]
    if consent.algorithms and algorithm.key in VERTICAL and algorithm.key not in listed:
        raise ConsentRefusal(f"client.toml does not list {algorithm.key!r} under algorithms")
    allow_rounds(config, answered)
    allow_clusters(config, algorithm.parameter("n_clusters", 0))
    _allow_settings(config, algorithm, n_features=0)
    tier = consent.privacy
    if tier_of(tier).for_columns() is None:
        raise ConsentRefusal(
            f'client.toml demands privacy = "{tier}", which studies over split columns do not offer'
        )


def allow_vertical_transforms(
    config: ClientConfig, plan: Plan, schema: Schema, unit_box: bool
) -> None:
    """Refuse plans without the required masks, and grids that distances can overflow."""
    if lacking := required_tier(config).missing_protection(plan, schema):
        raise ConsentRefusal(f"{plan.algorithm.key} lacks {lacking}, required by client.toml")
    for grid in plan.transforms:
        if isinstance(grid, FixedPoint):
            unit = set(grid.low) == {0.0} and set(grid.high) == {1.0}
            if not unit or len(grid.low) < schema.n_features or not unit_box:
                raise ConsentRefusal("integer sums need the columns of all clients scaled to 0..1")
        elif not isinstance(grid, PairwiseMasks):
            raise ConsentRefusal(f"{type(grid).__name__} has no meaning over split columns")


def allow_cohort(request: Request) -> None:
    """Refuse oversized cohorts: the range of an integer sum depends on their size."""
    if len(request.cohort) > _MAX_COHORT:
        raise ConsentRefusal(f"the cohort exceeds the limit of {_MAX_COHORT:,} clients")


def _allow_settings(
    config: ClientConfig, algorithm: AnyAlgorithm, n_features: int, *, masked: bool = False
) -> None:
    """Refuse parameters beyond the client's limits; the algorithm declares the limit of each.

    Masked totals must be over all rows, so a minimum number of records has no place in them.
    """
    least = config.consent.min_count
    for parameter in limited_parameters(type(algorithm)):
        name, role, value = parameter.name, parameter.role, algorithm.parameter(parameter.name)
        if value is None or role is Role.FREE:  # None: the algorithm's own default
            continue
        size = parameter.size(value)
        if role is Role.RECORDS:
            if size < least and not masked:
                raise ConsentRefusal(
                    f"{algorithm.key}: {name} = {size} is below min_count = {least} in client.toml"
                )
            continue
        limit, most = _limit(config, parameter, n_features)
        if size > most:
            raise ConsentRefusal(f"{name} = {size}, this client allows {limit} = {most}")


def _limit(config: ClientConfig, parameter: Parameter, n_features: int) -> tuple[str, int]:
    """The name of a limit, and the largest value that it allows."""
    role = parameter.role
    if isinstance(role, Work):
        return parameter.name, role.most
    if role is Role.COLUMNS:
        return "columns", n_features
    return role.value, getattr(config.consent, role.value)
