"""Layouts: the steps of a study that depend on how its data are split between clients."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...client.files import RowCounts
from ...client.problems import Problem, group_problems
from ...client.requests import Written
from ...clustering.choose_k import Choice
from ...clustering.model import ColumnsModel, Model
from ...clustering.preparation import Column
from ...core import AnyAlgorithm, ConfigError, DataError, RoundSummary
from ...privacy import ClientPolicy
from ...results import RunProfile
from ...tiers import Tier
from ...typing import FloatArray
from ..describe_run import TierEffect
from ..journal import Journal
from ..phases import Phase
from ..pool import ClientPool, LocalPool
from ..precision import EXACT, Precision
from ..settings import Conflict, Study

_SHOWN = 5  # problems in one message


@dataclass(frozen=True, eq=False)
class Survey:
    """What clients report of their data before the first round."""

    columns: tuple[Column, ...]
    counts: Mapping[str, RowCounts | None]  # None: the tier hides them
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()  # about files on this machine, for its user
    offers: Mapping[str, Any] = field(default_factory=dict)  # over split columns
    absent: Mapping[str, str] = field(default_factory=dict)  # who does not take part, and why

    @property
    def rows(self) -> dict[str, int | None]:
        """How many rows each client has, as far as that is known."""
        return {client: counts and counts.rows for client, counts in self.counts.items()}

    @property
    def passes(self) -> bool:
        """Whether the study can be run."""
        return not any(problem.blocking for problem in self.problems)

    def refuse_problems(self) -> None:
        """Raise an error with the first blocking problems, before anything is computed."""
        blocking = group_problems(problem for problem in self.problems if problem.blocking)
        if blocking:
            more = f"; and {len(blocking) - _SHOWN} more" if len(blocking) > _SHOWN else ""
            raise DataError("; ".join(map(str, blocking[:_SHOWN])) + more)


@dataclass(frozen=True, eq=False)
class Clustered:
    """The clusters of a study, before they are numbered and described."""

    requested: AnyAlgorithm  # before the tier changed it
    found: Any  # a Clustering, or a ColumnClustering
    choice: Choice | None = None

    @property
    def history(self) -> Sequence[RoundSummary]:
        """The rounds of the best run."""
        history: Sequence[RoundSummary] = self.found.history
        return history


@dataclass(frozen=True, eq=False)
class Described:
    """Numbered clusters, and everything that the report shows of them."""

    model: Any  # a Model, or a ColumnsModel, without its description of the run
    profile: RunProfile
    used: int | None  # rows that took part; None: the tier hides it
    caveat: str = ""  # what limits the use of the results; usually empty
    centers: FloatArray | None = None  # as published, over split rows; NaN where withheld
    precision: Precision = EXACT  # of published numbers about all rows


class Layout(ABC):
    """One way to split data: its checks, and its steps of a study."""

    split: ClassVar[str]
    keeps_state: ClassVar[bool] = False  # whether one process must answer all rounds of a client
    preparing: ClassVar[Phase] = Phase.SCALING

    def __init__(self, study: Study) -> None:
        self.study = study

    def find_missing_settings(self, *, files: bool) -> Iterator[Conflict]:
        """Settings that the study lacks; with `files` it lists its clients' files, too."""
        return iter(())

    def complete_settings(self) -> Study:
        """The study with the settings that follow from its layout."""
        return self.study

    @abstractmethod
    def find_conflicts(self) -> Iterator[Conflict]:
        """Settings that cannot be met together."""

    @abstractmethod
    def find_unprotected(self, tier: Tier) -> Iterator[Conflict]:
        """Settings that the tier cannot protect."""

    @abstractmethod
    def adapt_tier(self, tier: Tier) -> Tier:
        """The tier as it protects data of this layout."""

    @property
    def label_format(self) -> str:
        """The format of the label files in a study in one process, or "none"."""
        return self.study.outputs.labels

    def make_policy(self) -> ClientPolicy:
        """The policy of a client in a study in one process."""
        return ClientPolicy()

    @abstractmethod
    def survey(self, pool: ClientPool, tier: Tier) -> Survey:
        """Preflight: what clients report of their data."""

    def check_match(self, match: Model | ColumnsModel | None, survey: Survey) -> None:
        """Refuse an earlier run whose clusters cannot be matched."""
        if match is not None:
            raise ConfigError(
                f'--match-run: with split = "{self.split}" there are no centres to compare'
            )

    @abstractmethod
    def prepare(self, pool: ClientPool, survey: Survey, tier: Tier, journal: Journal) -> Any:
        """Make rows ready for clustering, and open a channel to them."""

    @abstractmethod
    def cluster(self, prepared: Any, tier: Tier, journal: Journal) -> Clustered:
        """Find the clusters."""

    @abstractmethod
    def describe(
        self,
        pool: ClientPool,
        prepared: Any,
        clustered: Clustered,
        tier: Tier,
        journal: Journal,
        match: Model | None,
    ) -> Described:
        """Number the clusters and describe them."""

    @abstractmethod
    def complete(self, described: Described, about: Any) -> Any:
        """The model with its description of the run."""

    def find_effect(self, prepared: Any, requested: AnyAlgorithm, tier: Tier) -> TierEffect:
        """What the tier changes of the computation itself."""
        return TierEffect(tier.sums_only and self.study.data.scaling is None)

    @abstractmethod
    def deliver(
        self, pool: ClientPool, prepared: Any, described: Described
    ) -> Mapping[str, Written]:
        """Have every client write its labels, and collect the confirmations."""

    def count_offered(self, survey: Survey) -> dict[str, int | None]:
        """Rows of each client that could take part, as far as that is known."""
        return survey.rows

    def notices(self, tier: Tier) -> list[str]:
        """Notices for all participants, before the study starts."""
        return []

    def select_clients(self, connected: Sequence[str]) -> list[str]:
        """The clients that the study lists, if it does; otherwise all of them."""
        listed = self.study.clients
        return [client for client in connected if not listed or client in listed]

    def describe_absent(self, connected: Collection[str]) -> str:
        """Clients that the study needs and that are not connected, as a suffix of a message."""
        return ""


def find_absent(pool: ClientPool, present: Collection[str]) -> dict[str, str]:
    """The clients that the study names, or asked, and that do not take part, with the reasons."""
    absent = dict.fromkeys(pool.named, "not connected")
    absent |= {client: reason.text for client, reason in pool.reasons().items()}
    return {client: why for client, why in absent.items() if client not in present}


def add_counts(counts: Collection[int | None]) -> int | None:
    """The sum, unless one of them is hidden."""
    return None if None in counts else sum(n or 0 for n in counts)


def is_local(pool: ClientPool) -> bool:
    """Whether all data are in this process, so that problems may show all details."""
    return isinstance(pool, LocalPool)
