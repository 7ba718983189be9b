"""The settings of a study file: one frozen dataclass for each table."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

from ..algorithms import ALGORITHMS, SEEDINGS, make
from ..client.consent import VERTICAL_KEYS
from ..clustering.columns import AnyRecordAlgorithm
from ..clustering.preparation import ESTIMATE, Column
from ..clustering.preparation.column import DERIVED
from ..clustering.preparation.prepare import MISSING, SCALINGS
from ..clustering.rows import OTHER_STARTS
from ..core import AnyAlgorithm, ConfigError
from ..data.files import named_files
from ..data.settings import FileSettings
from ..settings import Choices, Key, Setting, settings_of, table_schema
from ..tiers import TIERS, Tier
from .label_formats import LabelFormats

K_RANGE = (2, 15)  # with n_clusters = "auto"
SPLITS = ("rows", "columns")
RECORD_STARTS = ("records", "partition")  # over split columns
_K_MEANS = 'k-means is algorithm = "lossless"'
_FUZZY = 'fuzzy c-means is algorithm = "lossless" with fuzzy = true'
_ALGORITHM_HINTS = {  # by the name without punctuation
    **dict.fromkeys(("kmeans", "kmeans++", "lloyd", "federatedkmeans", "fedkmeans"), _K_MEANS),
    **dict.fromkeys(("fcm", "cmeans", "fuzzy", "fuzzycmeans", "fuzzykmeans"), _FUZZY),
}


@dataclass(frozen=True)
class ClusteringSettings:
    """[clustering]: the algorithm and its parameters."""

    algorithm: Annotated[
        str,
        Key(
            "lossless, or the key of an algorithm",
            Choices(("lossless",), ALGORITHMS),
            aliases=("method", "model"),
            hints=_ALGORITHM_HINTS,
        ),
    ]
    n_clusters: Annotated[
        int | Literal["auto"],
        Key(
            'number of clusters, or "auto": chosen from the data',
            low=1,
            aliases=("k", "clusters", "num_clusters", "number_of_clusters", "n_components", "c"),
        ),
    ]
    k_range: Annotated[
        tuple[int, int] | None,
        Key(
            'with "auto": smallest and largest number of clusters to try',
            low=2,
            aliases=("ks", "k_min", "k_max", "cluster_range"),
        ),
    ] = None
    fuzzy: Annotated[bool | None, Key("with lossless: fuzzy c-means instead of k-means")] = None
    fuzzifier: Annotated[
        float | None,
        Key("softness of the memberships", low=1.0, above=True, aliases=("m", "fuzziness")),
    ] = None
    init: Annotated[
        str,
        Key(
            "method that finds the first centres",
            Choices(OTHER_STARTS, SEEDINGS, RECORD_STARTS),
            aliases=("seeding", "initialization", "initialisation", "start"),
        ),
    ] = "auto"
    n_init: Annotated[
        int,
        Key(
            "number of starts; the best result is kept",
            low=1,
            aliases=("restarts", "n_starts", "n_restarts", "repeats"),
        ),
    ] = 1
    max_rounds: Annotated[
        int | None,
        Key(
            "maximum number of rounds",
            low=1,
            aliases=("max_iter", "max_iterations", "iterations", "rounds", "n_rounds"),
        ),
    ] = None
    tol: Annotated[
        float | None,
        Key(
            "a run ends when the centres move less than this",
            low=0.0,
            aliases=("tolerance", "threshold", "eps"),
        ),
    ] = None
    seed: Annotated[
        int, Key("seed of all random numbers", low=0, aliases=("random_state", "random_seed"))
    ] = 0


@dataclass(frozen=True, kw_only=True)
class DataSettings(FileSettings):
    """[data]: how files are read and columns are prepared."""

    split: Annotated[
        str,
        Key(
            "what is split between clients: rows, or the columns of the same records",
            SPLITS,
            aliases=("partition", "layout"),
            hints={
                "horizontal": 'write split = "rows"',
                "vertical": 'write split = "columns"',
            },
        ),
    ] = "rows"
    missing: Annotated[
        str,
        Key(
            "treatment of missing values",
            MISSING,
            aliases=("impute", "imputation", "fill", "fillna", "missing_data"),
        ),
    ] = "drop"
    category_weight: Annotated[
        float | None,
        Key(
            "squared distance of rows of different categories; default: 2, or with llf-prototypes "
            "half the mean spread of the numbers",
            low=0.0,
            above=True,
            aliases=("gamma", "categorical_weight"),
        ),
    ] = None
    bounds: Annotated[
        str | None,
        Key(
            "estimate: bounds of features without low and high come from counts of all clients' "
            "values, and values beyond them count as the nearest bound",
            (ESTIMATE,),
            aliases=("ranges", "estimate_bounds"),
        ),
    ] = None
    scaling: Annotated[
        str | None,
        Key(
            "scaling of all columns; default: standard, or min-max where sums are masked",
            SCALINGS,
            aliases=("scale", "scaler", "normalize", "normalise", "standardize", "standardise"),
            hints={
                "minmax": 'write scaling = "min-max"',
                "zscore": 'write scaling = "standard"',
                "standardize": 'write scaling = "standard"',
            },
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ClientSettings(FileSettings):
    """One entry of [clients] as a table: its file, and settings that differ from [data]."""

    file: Annotated[str, Key("the client's file, or a glob", aliases=("path", "files", "data"))]


@dataclass(frozen=True)
class FeatureSettings:
    """One entry of [features]: what is publicly known of a column."""

    unit: Annotated[str, Key("unit of measurement", aliases=("units",))] = ""
    low: Annotated[
        float | None,
        Key("public lower bound", aliases=("min", "minimum", "lower", "lower_bound", "from")),
    ] = None
    high: Annotated[
        float | None,
        Key("public upper bound", aliases=("max", "maximum", "upper", "upper_bound", "to")),
    ] = None
    log: Annotated[
        bool, Key("take the logarithm", aliases=("log_scale", "logarithm", "log_transform"))
    ] = False
    categories: Annotated[
        tuple[str | int | float, ...],
        Key("all values of a categorical column", aliases=("values", "levels", "classes")),
    ] = ()
    derive: Annotated[
        str | None,
        Key(
            "number that stands for a date",
            DERIVED,
            aliases=("date", "date_part", "extract", "part"),
        ),
    ] = None


@dataclass(frozen=True)
class SamplingSettings:
    """[sampling]: the clients of a round."""

    fraction: Annotated[
        float, Key("share of clients in a round", low=0.0, high=1.0, above=True)
    ] = 1.0
    min_clients: Annotated[int, Key("minimum number of clients in a round", low=1)] = 1


@dataclass(frozen=True)
class PrivacySettings:
    """[privacy]: the tier, and those of its parameters that the file gives."""

    tier: Annotated[
        str | None,
        Key(
            "protection of the clients; default: none in one process, secure across machines",
            TIERS,
            aliases=("privacy", "level", "protection", "mode"),
        ),
    ] = None
    min_count: Annotated[
        int, Key("not with dp: minimum number of rows behind a number in results", low=1)
    ] = 5
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class OutputSettings:
    """[outputs]: what is written besides the model."""

    labels: Annotated[str, Key("format of the labels", LabelFormats())] = "parquet"
    labels_in: Annotated[
        str, Key("labels go beside each client's data, or into the run's folder", ("data", "run"))
    ] = "data"
    report: Annotated[bool, Key("write report.html")] = True


@dataclass(frozen=True)
class TitleSettings:
    """[study]: what the report says of the study."""

    title: Annotated[str, Key("title of the report", aliases=("name",))] = ""
    description: Annotated[str, Key("a sentence or two below the title", aliases=("about",))] = ""


@dataclass(frozen=True)
class NameSettings:
    """[clusters]: names for the report; they can also be added to the study.toml of a run."""

    names: Annotated[
        tuple[str, ...], Key("names of the clusters, in the order of their numbers")
    ] = ()


SECTIONS: Mapping[str, type] = {
    "clustering": ClusteringSettings,
    "data": DataSettings,
    "outputs": OutputSettings,
    "sampling": SamplingSettings,
    "privacy": PrivacySettings,
    "study": TitleSettings,
    "clusters": NameSettings,
}


@dataclass(frozen=True)
class Study:
    """A study file, checked; paths are resolved against its folder."""

    path: Path
    clients: Mapping[str, str]  # name -> file or glob
    features: tuple[Column, ...] | None  # None: all numeric columns that every client has
    clustering: ClusteringSettings
    data: DataSettings
    sampling: SamplingSettings
    privacy: PrivacySettings
    outputs: OutputSettings
    given: frozenset[tuple[str, str]] = frozenset()  # table and key of each value in the file
    own_data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by client
    titles: TitleSettings = TitleSettings()
    names: NameSettings = NameSettings()

    @property
    def n_clusters(self) -> tuple[int, int]:
        """Smallest and largest number of clusters; both are the same unless it is "auto"."""
        wanted = self.clustering.n_clusters
        if wanted == "auto":
            return self.clustering.k_range or K_RANGE
        return wanted, wanted

    @property
    def bounded(self) -> bool:
        """Whether every feature has bounds, public or estimated; categories are 0 or 1."""
        features = self.features or ()
        return self.estimates or (bool(features) and all(c.box is not None for c in features))

    @property
    def partial(self) -> bool:
        """Whether rows take part with missing cells."""
        return self.data.missing == "partial"

    @property
    def estimates(self) -> bool:
        """Whether bounds of some features have to be estimated."""
        unknown = self.features is None or any(column.box is None for column in self.features)
        return self.data.bounds == ESTIMATE and unknown

    def files(self, client: str) -> list[Path]:
        """The client's files; a glob may name several."""
        return named_files(self.path_of(client))

    def path_of(self, client: str) -> Path:
        """The path that the study gives for a client: a file or a glob."""
        return self.path.parent / Path(self.clients[client]).expanduser()

    def file_settings(self, client: str) -> FileSettings:
        """How a client's files are read: as [data] says, unless the client's own table does."""
        values = {field.name: getattr(self.data, field.name) for field in fields(FileSettings)}
        return FileSettings(**{**values, **self.own_data.get(client, {})})


class Conflict(NamedTuple):
    """Settings that exclude each other: the table and key to change, and the reason."""

    where: tuple[str, str]
    message: str


def make_algorithm(clustering: ClusteringSettings, n_clusters: int) -> AnyAlgorithm:
    """The algorithm with all parameters that [clustering] gives; none is ignored."""
    key = clustering.algorithm
    if key == "lossless":
        key = "llf-fcm" if clustering.fuzzy else "llf-cm"
    algorithm = make(key, n_clusters)
    if clustering.fuzzy and not algorithm.soft:
        raise ConfigError(f"fuzzy = true, but {key} computes labels, not memberships")
    if clustering.fuzzy is False and algorithm.soft:
        raise ConfigError(f"fuzzy = false, but {key} computes memberships")
    parameters = given_parameters(clustering)
    for name in parameters:
        if not algorithm.has_parameter(name):
            raise ConfigError(f"{key} has no parameter {name}; leave it out")
    return cast(AnyAlgorithm, replace(cast(Any, algorithm), **parameters))


def make_columns_algorithm(clustering: ClusteringSettings) -> AnyRecordAlgorithm:
    """The algorithm over split columns, with all parameters that [clustering] gives."""
    n_clusters = cast(int, clustering.n_clusters)  # conflicts refuse "auto"
    over_rows = make_algorithm(clustering, n_clusters)  # refuses contradictory parameters
    key, parameters = VERTICAL_KEYS[over_rows.key], given_parameters(clustering)
    return cast(AnyRecordAlgorithm, make(key, n_clusters, **parameters))


def given_parameters(clustering: ClusteringSettings) -> dict[str, Any]:
    """The algorithm's own parameters that differ from its defaults."""
    parameters = {
        "max_rounds": clustering.max_rounds,
        "tol": clustering.tol,
        "fuzzifier": clustering.fuzzifier,
    }
    return {name: value for name, value in parameters.items() if value is not None}


def make_tier(study: Study, default: str) -> Tier:
    """The tier with all parameters that [privacy] gives; none is ignored."""
    kind = TIERS[study.privacy.tier or default]
    known = {field.name for field in fields(kind)}
    for name in study.privacy.parameters:
        if name not in known:
            raise ConfigError(f"tier = {kind.name!r} has no parameter {name}; leave it out")
    tier = kind(**study.privacy.parameters).with_rounds(study.clustering.max_rounds)
    scales = study.data.scaling == "standard" or study.data.missing == "mean"
    tier = tier.for_preparation(ranges=study.estimates, scale=scales)
    return tier.for_summary() if study.clustering.n_clusters == "auto" else tier


def privacy_settings(tier: str = "") -> tuple[Setting, ...]:
    """The keys of [privacy]: its own and those of all tiers; the given tier's limits count."""
    found = {setting.name: setting for setting in settings_of(PrivacySettings)}
    for kind in (*([TIERS[tier]] if tier in TIERS else []), *TIERS.values()):
        for setting in settings_of(kind):
            found.setdefault(setting.name, setting)
    return tuple(found.values())


def json_schema() -> dict[str, Any]:
    """The JSON schema of a study file, for editors."""
    clients = {"anyOf": [{"type": "string"}, table_schema(settings_of(ClientSettings))]}
    free = {"clients": clients, "features": table_schema(settings_of(FeatureSettings))}
    tables = {name: {"type": "object", "additionalProperties": kind} for name, kind in free.items()}
    tables |= {name: table_schema(settings_of(kind)) for name, kind in SECTIONS.items()}
    tables["privacy"] = table_schema(privacy_settings())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fedclust study",
        "type": "object",
        "additionalProperties": False,
        "properties": tables,
        "required": ["clients", "clustering"],
    }
