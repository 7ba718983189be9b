"""Admission of requests: one order of checks, from the cheapest to those that are counted.

Every request passes these checks, in this order:

1. the caller: study and author are listed in client.toml (`allow_caller`);
2. the cohort is no larger than any federation (`allow_cohort`);
3. the columns are listed, and none of them is the id (`allow_columns`);
4. the plan: algorithm, rounds of this job, its settings, the tier (`allow_plan`);
5. the form of rows, grids and centres: only what the columns' public bounds allow;
6. the ledger: bounds and categories of the columns are entered, once per form of rows
   (`record_descriptions`);
7. the data: blocking problems end the request;
8. the client's policy, in one transaction with the ledger: limits, the cohort that hides the sum,
   the query limit (`ClientPolicy.admit`);
9. before the reply leaves: the privacy budget of noise, and masks that are used once.

No data are read before step 6, and no query is counted before all earlier checks have passed. In a
study in one process only the client's policy is checked (`NO_CONSENT_NEEDED`).
"""

from collections.abc import Sequence

from ..algorithms.range_counts import RangeCounts, RangeEdges
from ..clustering.preparation import Column
from ..clustering.preparation.statistics import Histogram
from ..core import AnyAlgorithm, Code, Plan, Record, Refusal, Request, Schema
from ..privacy import ClientPolicy
from ..privacy.crypto import digest
from ..tiers import Tier
from .config import ClientConfig
from .consent import (
    allow_bounds,
    allow_caller,
    allow_clusters,
    allow_cohort,
    allow_columns,
    allow_form,
    allow_key,
    allow_plan,
    allow_rounds,
    allow_vertical,
    allow_vertical_transforms,
    describe_columns,
    describe_edges,
    describe_range_edges,
    required_tier,
)
from .disclosures import last_count
from .requests import Caller, EncodedRows, PreparedRows


class Admission:
    """Checks for a study in one process, where every request is allowed."""

    counts_hidden = False  # whether row counts stay with the client
    follows = False  # whether requests outside of a followed study are refused
    masks_required = False  # whether a study needs masks

    def allow_caller(self, caller: Caller) -> None:
        """Check the study and its author."""

    def allow_cohort(self, request: Request) -> None:
        """Check the clients of a round."""

    def allow_preflight(self, algorithm: str, columns: Sequence[Column]) -> None:
        """Check the algorithm and the columns of a preflight."""

    def select_columns(self, names: Sequence[str]) -> list[str]:
        """The columns that a request may use if it does not name any."""
        return list(names)

    def allow_round(
        self, plan: Plan, request: Request, form: EncodedRows | PreparedRows, answered: int
    ) -> None:
        """Check a round over split rows."""

    def allow_labels(self, columns: Sequence[Column], n_clusters: int) -> None:
        """Check the columns and the number of clusters before rows are labelled."""

    def allow_vertical_columns(self, columns: Sequence[Column]) -> None:
        """Check the client's own columns in a study over split columns."""

    def allow_vertical(self, algorithm: AnyAlgorithm, answered: int) -> None:
        """Check an algorithm over split columns."""

    def allow_vertical_transforms(self, plan: Plan, schema: Schema, unit_box: bool) -> None:
        """Check the transforms of a plan over split columns."""

    def allow_vertical_drawn(self, n: int) -> None:
        """Check the number of records whose distances one round of seeding asks for."""

    def allow_shared(self, n_shared: int, n_offered: int) -> None:
        """Check the number of shared records."""

    def record_descriptions(self, columns: Sequence[Column]) -> None:
        """Enter bounds and categories of columns in the ledger."""

    def record_query(self, what: str, *words: bytes) -> None:
        """Enter in the ledger a query that is not a round."""


NO_CONSENT_NEEDED = Admission()
_FEWEST_SHARED = 10  # shared records: with fewer, distances would reveal values
_DRAWN = 16  # records in one round of seeding that are always allowed


class ConsentAdmission(Admission):
    """Checks against client.toml, which the client's owner has written."""

    def __init__(self, config: ClientConfig, policy: ClientPolicy) -> None:
        self._config, self._policy = config, policy
        self._allowed: tuple[Plan, int] | None = None  # the last plan, and its number of features

    @property
    def counts_hidden(self) -> bool:  # type: ignore[override]
        """Whether the required tier hides row counts."""
        return self.tier.sums_only

    @property
    def follows(self) -> bool:  # type: ignore[override]
        """Whether the required tier lets only sums leave, which can be followed."""
        return self.tier.sums_only

    @property
    def masks_required(self) -> bool:  # type: ignore[override]
        """Whether the required tier has masks."""
        return self.tier.masks

    @property
    def tier(self) -> Tier:
        """The minimum tier that the client requires."""
        return required_tier(self._config)

    def allow_caller(self, caller: Caller) -> None:
        allow_caller(self._config, caller.study, caller.author)

    def allow_cohort(self, request: Request) -> None:
        allow_cohort(request)

    def allow_preflight(self, algorithm: str, columns: Sequence[Column]) -> None:
        allow_key(self._config, algorithm)
        allow_columns(self._config, [column.name for column in columns])

    def select_columns(self, names: Sequence[str]) -> list[str]:
        allowed = self._config.consent.columns
        return [name for name in names if not allowed or name in allowed]

    def allow_round(
        self, plan: Plan, request: Request, form: EncodedRows | PreparedRows, answered: int
    ) -> None:
        allow_columns(self._config, [column.name for column in form.columns])
        allow_rounds(self._config, answered)
        self._allow_plan(plan, form.schema.n_features)
        allow_form(plan, isinstance(form, PreparedRows))
        down: Record = request.down
        down.check(plan.algorithm.sizes(form.schema))
        allow_bounds(plan, down, form.schema)
        if isinstance(plan.algorithm, Histogram):
            self._describe(describe_edges(plan.algorithm, form.columns))
        if isinstance(plan.algorithm, RangeCounts) and isinstance(down, RangeEdges):
            self._describe(describe_range_edges(plan.algorithm, down, form.columns))

    def _allow_plan(self, plan: Plan, n_features: int) -> None:
        """A study that is followed has one plan for many rounds, which is checked once."""
        if self._allowed is None or self._allowed[0] is not plan or self._allowed[1] != n_features:
            allow_plan(self._config, plan, n_features)
            self._allowed = plan, n_features

    def allow_labels(self, columns: Sequence[Column], n_clusters: int) -> None:
        allow_columns(self._config, [column.name for column in columns])
        allow_clusters(self._config, n_clusters)
        self.record_descriptions(columns)

    def allow_vertical_columns(self, columns: Sequence[Column]) -> None:
        allowed = self._config.consent.columns
        for column in columns:
            if allowed and column.name not in allowed:
                raise Refusal(
                    "client.toml does not allow a column of the study",
                    code=Code.CONSENT,
                    private=f"column {column.name!r}",
                )

    def allow_vertical(self, algorithm: AnyAlgorithm, answered: int) -> None:
        allow_vertical(self._config, algorithm, answered)

    def allow_vertical_transforms(self, plan: Plan, schema: Schema, unit_box: bool) -> None:
        allow_vertical_transforms(self._config, plan, schema, unit_box)

    def allow_vertical_drawn(self, n: int) -> None:
        if n > max(_DRAWN, self._config.consent.max_clusters):
            raise Refusal(
                f"a round of seeding asks for distances to {n} records, which is too many"
            )

    def allow_shared(self, n_shared: int, n_offered: int) -> None:
        from ..clustering.alignment import MIN_OVERLAP  # few studies split columns

        if n_shared < max(_FEWEST_SHARED, MIN_OVERLAP * n_offered):
            raise Refusal(f"{n_shared} shared records are too few to hide a single one")

    def record_descriptions(self, columns: Sequence[Column]) -> None:
        self._describe(describe_columns(columns))

    def _describe(self, described: Sequence[tuple[str, str]]) -> None:
        ledger = self._policy.ledger
        if not all(ledger.has_described(column, words) for column, words in described):
            most = self._config.consent.max_descriptions
            with ledger.transaction() as entries:
                for column, words in described:
                    entries.describe(column, words, most=most)

    def check_ledger(self) -> None:
        """Refuse everything while the ledger shows fewer queries than the disclosure log.

        It was removed or replaced, and with it the count of what the data set has released.
        """
        ledger, path = self._policy.ledger, self._config.place(self._config.output.disclosures)
        logged = last_count(path)
        if logged is None or logged.queries <= ledger.n_queries or ledger.reset_since(logged.when):
            return
        raise Refusal(
            "its ledger shows fewer queries than it has answered; its owner has to look into it",
            code=Code.POLICY,
            private=f"{ledger.path} counts {ledger.n_queries} queries, and {path} counted "
            f"{logged.queries}: the ledger was removed or replaced. Restore it, or accept the loss "
            'with: fedclust disclosures KIT --reset-ledger "reason"',
        )

    def record_query(self, what: str, *words: bytes) -> None:
        most = self._config.consent.max_queries
        query = digest(what.encode(), *words)
        self._policy.ledger.record_query(query, what=what, most=most)
