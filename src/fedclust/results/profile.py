"""The clusters, the clients and what they sent: profile.json.

All of it comes from merged messages. None stands for a value that is withheld or not known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..typing import Better

# The rows that the sizes and statistics of clusters cover: all that were used; those of clients
# that replied to the last queries; those that clients released; or none, as the tier allows none.
Coverage = Literal["all", "replied", "released", "none"]


@dataclass(frozen=True, kw_only=True)
class ClientRecord:
    """How a client took part."""

    name: str
    rows: int | None  # None: the tier hides it
    used: int | None
    left_out: int | None
    why: str  # the reason why rows were left out; empty if none were
    rounds: int  # of the clustering


@dataclass(frozen=True, kw_only=True)
class FeatureProfile:
    """A prepared column within a cluster, in its own units."""

    name: str
    unit: str
    mean: float | None
    sd: float | None
    overall_mean: float | None
    overall_sd: float | None
    effect: float | None  # (mean - overall mean) in overall standard deviations, as clustered


@dataclass(frozen=True, kw_only=True)
class ClusterProfile:
    """A cluster: its size and its features."""

    id: int
    size: int | None  # None: clients or the tier withhold it
    by_client: Mapping[str, int | None]  # empty where counts by client are not published
    features: tuple[FeatureProfile, ...]  # empty over split columns: only owners know their columns
    entropy: float | None  # mean entropy of memberships, from 0 to 1; None for hard clusters
    reliable: bool = True  # false if the noise of the tier hides the centre


@dataclass(frozen=True)
class MapAxis:
    """One of the two directions of the map."""

    share: float  # of the variance
    loadings: Mapping[str, float]  # by prepared column


@dataclass(frozen=True, kw_only=True)
class Ellipse:
    """A cluster on the map: its mean, and one standard deviation around it."""

    id: int
    center: tuple[float, float]
    radii: tuple[float, float]
    angle: float | None  # degrees


@dataclass(frozen=True)
class MapGrid:
    """Counts of rows in cells of the map, over all clients together."""

    x: tuple[float, ...]  # edges of the cells
    y: tuple[float, ...]
    # A row of cells for each y; None for a cell of fewer rows than the minimum. Empty: not counted.
    counts: tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True)
class ClusterMap:
    """The plane in which clusters lie farthest apart."""

    axes: tuple[MapAxis, MapAxis]
    ellipses: tuple[Ellipse, ...]
    grid: MapGrid


@dataclass(frozen=True, kw_only=True)
class QualityRecord:
    """An index of the clustering, beside its value for pooled rows."""

    index: str
    value: float | None
    pooled: float | None  # None: not computed
    better: Better


@dataclass(frozen=True, kw_only=True)
class PhaseRecord:
    """What left the clients in one phase of the run."""

    name: str
    rounds: int
    message: str  # the content of a message, in words
    bytes_up: Mapping[str, int]  # by client

    @property
    def total_bytes(self) -> int:
        """Bytes of all clients together."""
        return sum(self.bytes_up.values())


@dataclass(frozen=True)
class Withheld:
    """What the counts by client and cluster leave out; the totals and the counts show it, too."""

    cells: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class MissingCells:
    """The share of missing cells of each client in each column."""

    columns: tuple[str, ...]
    # A share for each column; None: of so few missing or observed cells that it is withheld.
    shares: Mapping[str, tuple[float | None, ...]]


@dataclass(frozen=True, kw_only=True)
class EstimatedBounds:
    """Bounds that were found for a column, and how many of its values lie beyond them."""

    name: str
    unit: str
    low: float
    high: float
    beyond: int | None  # None: noise hides it, or rows are averaged


@dataclass(frozen=True, kw_only=True)
class RunProfile:
    """Everything about a run that the report shows beside the model."""

    minimum: int  # rows behind a number by client, in a cell of the map, or of a mean
    coverage: Coverage
    rounded: bool  # means and deviations are rounded: they are of other rows than the centres
    clients: tuple[ClientRecord, ...]
    clusters: tuple[ClusterProfile, ...]
    map: ClusterMap | None  # None over split columns: no party knows all columns
    quality: tuple[QualityRecord, ...]
    phases: tuple[PhaseRecord, ...]
    withheld: Withheld | None  # None: counts by client and cluster are not published
    # Adjusted Rand index of clusters and clients, to two digits; None: not known.
    agreement: float | None = None
    missing: MissingCells | None = None  # None: rows are complete, or the tier hides it
    estimated: tuple[EstimatedBounds, ...] = ()  # by column

    @property
    def rows_known(self) -> bool:
        """Whether the tier shows how many rows each client has."""
        return all(client.used is not None for client in self.clients)

    @property
    def rows_used(self) -> int:
        """Rows that took part, as far as known."""
        return sum(client.used or 0 for client in self.clients)
