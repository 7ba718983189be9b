"""client.toml: which files a client opens, and which requests it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from ..algorithms import ALGORITHMS
from ..core import ConfigError
from ..core.checks import LARGEST
from ..core.device import DEVICES
from ..data.files import describe_absent, named_files
from ..data.ids import secret_bytes
from ..data.settings import FileSettings
from ..privacy import ClientPolicy, Ledger, Limits
from ..privacy.keyring import FEWEST
from ..settings import Key, TomlFile
from ..tiers import TIERS
from .files import ClientFiles
from .identities import read_enrolment

CLIENT_FILE = "client.toml"
APPROVAL = ("rules", "ask")


@dataclass(frozen=True, kw_only=True)
class DataSettings(FileSettings):
    """[data]: the client's files."""

    file: Annotated[str, Key("the client's file, or a glob; relative to client.toml")]
    secret: Annotated[
        str | None, Key("secret by which owners of columns match their records", hidden=True)
    ] = None


@dataclass(frozen=True)
class ConsentSettings:
    """[consent]: which requests the client answers."""

    studies: Annotated[tuple[str, ...], Key("names of allowed studies; empty: any")] = ()
    authors: Annotated[
        tuple[str, ...], Key("allowed authors, as in their certificate; empty: any")
    ] = ()
    algorithms: Annotated[
        tuple[str, ...], Key("keys of allowed clustering algorithms; empty: all", ALGORITHMS)
    ] = ()
    columns: Annotated[tuple[str, ...], Key("columns that may be used; empty: all")] = ()
    min_count: Annotated[
        int,
        Key("minimum number of records behind a number, unless an algorithm is lossless", low=1),
    ] = 2
    privacy: Annotated[str, Key("minimum tier of a study", TIERS)] = "none"
    approval: Annotated[
        str,
        Key(
            'who approves a study: "rules" (those of this file), or "ask" (its owner, each time)',
            APPROVAL,
        ),
    ] = "rules"
    min_cohort: Annotated[
        int,
        Key(
            "under masks: minimum number of clients in a total, and in a difference of two",
            low=FEWEST,
        ),
    ] = FEWEST
    max_rounds: Annotated[int, Key("maximum number of rounds in one job", low=1)] = 10_000
    max_queries: Annotated[
        int, Key("maximum number of queries to these data, over all studies", low=1)
    ] = 1_000
    epsilon: Annotated[
        float | None,
        Key(
            "with dp: bound on the privacy loss of a record, over all studies",
            low=0,
            high=100,
            above=True,
        ),
    ] = None
    delta: Annotated[
        float, Key("with dp: the probability that the bound fails", low=0, high=1, above=True)
    ] = 1e-6
    max_descriptions: Annotated[
        int, Key("maximum number of different bounds or categories for a column", low=1)
    ] = 3
    max_clusters: Annotated[int, Key("maximum number of clusters", low=1)] = 1_000
    split_columns: Annotated[
        bool, Key("allow studies over split columns, which reveal distances between rows")
    ] = False
    max_bins: Annotated[int, Key("maximum number of bins in a histogram", low=2)] = 512


@dataclass(frozen=True)
class ComputeSettings:
    """[compute]: what the client computes with."""

    device: Annotated[
        str, Key('where steps over the rows run; "auto": a GPU for large tables, if any', DEVICES)
    ] = "auto"


@dataclass(frozen=True)
class OutputSettings:
    """[output]: what the client writes; paths are relative to client.toml."""

    labels: Annotated[str, Key("folder for labels")] = "labels"
    disclosures: Annotated[str, Key("log of every message that left")] = "disclosures.jsonl"
    ledger: Annotated[str, Key("log of the queries answered so far")] = "ledger.jsonl"


@dataclass(frozen=True)
class ClientConfig:
    """A client's own configuration; paths are resolved against its folder."""

    path: Path
    data: DataSettings
    consent: ConsentSettings
    output: OutputSettings
    # [bounds]: low and high of columns, which scale them where columns are split between clients.
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    compute: ComputeSettings = ComputeSettings()

    def files(self) -> list[Path]:
        """The client's data files; a glob may name several."""
        paths = named_files(self.place(self.data.file))
        if not paths:
            absent = describe_absent(self.data.file, self.place(self.data.file))
            raise ConfigError(f"{self.path}: {absent}; correct [data] file")
        return paths

    def open_files(self, name: str, *, in_memory: bool = False) -> ClientFiles:
        """The files, as the client of that name reads them."""
        settings = replace(self.data, batch_rows=0) if in_memory else self.data
        return ClientFiles(name, self.files(), settings)

    def policy(self) -> ClientPolicy:
        """The policy of this client: its keys, its limits and its ledger."""
        consent = self.consent
        limits = Limits(
            min_cohort=consent.min_cohort,
            max_rounds=consent.max_rounds,
            max_queries=consent.max_queries,
            epsilon=consent.epsilon,
            delta=consent.delta,
        )
        identity, peers = read_enrolment(self.path.parent)
        ledger = Ledger(self.place(self.output.ledger))
        return ClientPolicy(identity, peers=peers, limits=limits, ledger=ledger)

    def place(self, name: str) -> Path:
        """A path relative to the folder of client.toml."""
        return self.path.parent / name


def read_client_config(path: Path) -> ClientConfig:
    """The configuration in a client.toml."""
    file = TomlFile.read(path, ("data", "consent", "bounds", "compute", "output"))
    data = file.section(DataSettings, "data")
    consent = file.section(ConsentSettings, "consent")
    if data.secret is not None:
        try:
            secret_bytes(data.secret)
        except ConfigError as problem:
            raise file.error(("data", "secret"), str(problem)) from None
    if TIERS[consent.privacy].noisy and consent.epsilon is None:
        raise file.error(
            ("consent", "privacy"),
            f"privacy = {consent.privacy!r} needs epsilon: the bound on the privacy loss of a "
            "record over all studies, such as epsilon = 1.0",
        )
    output = file.section(OutputSettings, "output")
    compute = file.section(ComputeSettings, "compute")
    return ClientConfig(path, data, consent, output, _read_bounds(file), compute)


def _read_bounds(file: TomlFile) -> dict[str, tuple[float, float]]:
    """Low and high of each column that the table names."""
    bounds = {}
    for column, value in file.tables.get("bounds", {}).items():
        if not _is_interval(value):
            raise file.error(
                ("bounds", column),
                f"{column} must be two numbers, low and high, such as {column} = [0, 120]",
            )
        bounds[column] = (float(value[0]), float(value[1]))
    return bounds


def _is_interval(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(end) in (int, float) and abs(end) <= LARGEST for end in value)
        and value[0] < value[1]
    )
