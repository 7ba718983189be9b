"""What a client allows: every request is held against client.toml before any row is touched."""

import json
from collections.abc import Iterable

from ..algorithms import VERTICAL
from ..algorithms.registry import clustering_keys
from ..clustering.preparation import Column
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
from ..privacy.fixed_point import MAX_RECORDS
from ..tiers import Tier, tier_of
from .config import ClientConfig

_MOST_NAMES = 1_000  # of clients in a cohort


# Over split columns: the algorithm that each key of a study stands for.
VERTICAL_KEYS = {"llf-cm": "vertical-llf-cm", "llf-fcm": "vertical-llf-fcm"}


class Refused(Refusal):
    """A request that client.toml does not allow."""

    def __init__(self, text: str) -> None:
        super().__init__(text, code=Code.CONSENT)


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


def describe_columns(columns: Iterable[Column]) -> list[tuple[str, str]]:
    """Bounds and categories that columns are described with, by column."""
    return [
        (c.name, json.dumps([c.low, c.high, c.log, *c.categories]))
        for c in columns
        if c.categories or c.log or c.low is not None
    ]


def allow_plan(file: ClientConfig, plan: Plan, n_features: int, answered: int) -> None:
    """Refuse algorithms, settings and tiers beyond what is allowed."""
    algorithm, consent = plan.algorithm, file.consent
    key = algorithm.key
    if algorithm.partition != "horizontal":
        raise Refused(f"{key} is not answered over a network: its messages are not of rows")
    _allow_algorithm(file, algorithm)
    if answered >= consent.max_rounds:
        raise Refused(f"client.toml allows max_rounds = {consent.max_rounds}")
    _allow_settings(file, algorithm, n_features)
    seen = plan
    kept = tuple(t for t in plan.transforms if t.stage != Stage.NOISE)
    if consent.epsilon is None and len(kept) < len(plan.transforms):
        seen = Plan(algorithm, kept, plan.seed)  # without a budget, noise protects nothing
    lacking = (
        demanded(file).missing_protection(seen, Schema(n_features))
        if algorithm.traits.reads_rows
        else ""
    )
    if lacking:
        raise Refused(
            f"{key} came without what client.toml demands by privacy = "
            f'"{consent.privacy}" ({lacking}); set [privacy] tier in the study'
        )


def demanded(file: ClientConfig) -> Tier:
    """The least tier of a plan; how many questions is the client's own number, and its gate's."""
    return tier_of(file.consent.privacy).for_client(file.consent.max_queries)


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
        room = (high - low) * (1e-6 if plan.algorithm.traits.means else 1.0)
        if not ((centers >= low - room) & (centers <= high + room)).all():
            raise Refused("centres outside the public bounds ask about single records")


def allow_key(file: ClientConfig, key: str) -> None:
    """Refuse a study whose algorithm is not listed, when it first looks at the data."""
    listed = file.consent.algorithms
    if listed and key not in listed:
        raise Refused(f"client.toml does not list {key!r} under algorithms")


def _allow_algorithm(file: ClientConfig, algorithm: AnyAlgorithm) -> None:
    """Of what clusters only the listed; scales, starts and scores go with them."""
    listed, keys = file.consent.algorithms, clustering_keys(type(algorithm))
    if listed and keys and not keys & set(listed):
        raise Refused(f"client.toml does not list {algorithm.key!r} under algorithms")


def allow_form(plan: Plan, prepared: bool) -> None:
    """Refuse all but statistics over rows that have gaps: nothing else knows what to do there."""
    traits = plan.algorithm.traits
    if not prepared and traits.reads_rows and not traits.over_missing:
        raise Refused(f"{plan.algorithm.key} needs rows that are prepared, without gaps")


def allow_clusters(file: ClientConfig, n_clusters: int) -> None:
    """Refuse more clusters than client.toml allows."""
    most = file.consent.max_clusters
    if n_clusters > most:
        raise Refused(f"n_clusters = {n_clusters}, client.toml allows max_clusters = {most}")


def allow_split_columns(file: ClientConfig) -> bytes:
    """The secret that clients over split columns share, if this client takes part at all."""
    if not file.consent.split_columns:
        raise Refused("client.toml does not allow studies over split columns (split_columns)")
    for key, value in (("id", file.data.id), ("secret", file.data.secret)):
        if value is None:
            raise Refused(f"client.toml has no {key} under [data], which aligns records")
    if file.data.batch_rows:
        raise Refused("client.toml: split columns need all rows in memory; leave out batch_rows")
    return secret_bytes(str(file.data.secret))


def allow_vertical(file: ClientConfig, algorithm: AnyAlgorithm, answered: int) -> None:
    """Refuse algorithms, settings and tiers beyond what is allowed over split columns."""
    consent = file.consent
    listed = [VERTICAL_KEYS.get(key) for key in consent.algorithms]
    if consent.algorithms and algorithm.key in VERTICAL and algorithm.key not in listed:
        raise Refused(f"client.toml does not list {algorithm.key!r} under algorithms")
    if answered >= consent.max_rounds:
        raise Refused(f"client.toml allows max_rounds = {consent.max_rounds}")
    allow_clusters(file, vars(algorithm).get("n_clusters", 0))
    tier = consent.privacy
    if tier_of(tier).for_columns() is None:
        raise Refused(
            f'client.toml demands privacy = "{tier}", which studies over split columns do not offer'
        )


def allow_vertical_transforms(
    file: ClientConfig, plan: Plan, schema: Schema, unit_box: bool
) -> None:
    """Refuse plans without the demanded masks, and grids that distances may not fit."""
    if lacking := demanded(file).missing_protection(plan, schema):
        raise Refused(f"{plan.algorithm.key} lacks {lacking}, required by client.toml")
    for grid in plan.transforms:
        if isinstance(grid, FixedPoint):
            unit = set(grid.low) == {0.0} and set(grid.high) == {1.0}
            if not unit or len(grid.low) < schema.n_features or not unit_box:
                raise Refused("integer sums need the columns of all clients scaled to 0..1")
        elif not isinstance(grid, PairwiseMasks):
            raise Refused(f"{type(grid).__name__} has no meaning over split columns")


def allow_cohort(request: Request) -> None:
    """Refuse more names than any federation has: what a sum may hold depends on their number."""
    if len(request.cohort) > _MOST_NAMES:
        raise Refused(f"a cohort of more than {_MOST_NAMES:,} is none")


def _allow_settings(file: ClientConfig, algorithm: AnyAlgorithm, n_features: int) -> None:
    """Refuse parameters beyond the client's limits; the algorithm says which limit each has."""
    least = file.consent.min_count
    for parameter in limited_parameters(type(algorithm)):
        name, role, value = parameter.name, parameter.role, algorithm.parameter(parameter.name)
        if value is None or role is Role.FREE:  # None: the algorithm's own default
            continue
        size = parameter.size(value)
        if role is Role.RECORDS:
            if size < least:
                raise Refused(
                    f"{algorithm.key}: {name} = {size}, client.toml allows min_count = {least} or "
                    "more"
                )
            continue
        limit, most = _limit(file, parameter, n_features)
        if size > most:
            raise Refused(f"{name} = {size}, this client allows {limit} = {most}")


def _limit(file: ClientConfig, parameter: Parameter, n_features: int) -> tuple[str, int]:
    """The name of a limit, and the largest value that it allows."""
    role = parameter.role
    if isinstance(role, Work):
        return parameter.name, role.most
    if role is Role.COLUMNS:
        return "columns", n_features
    return role.value, getattr(file.consent, role.value)
