"""client.toml: which file a client opens, and what it allows to be asked of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..algorithms import ALGORITHMS, did_you_mean
from ..core import ConfigError
from ..data.files import named_files
from ..data.ids import secret_bytes
from ..privacy import ClientPolicy, Ledger, Limits
from ..privacy.lookup import TIERS
from ..study.file import read_tables
from ..study.keys import DATA, Key
from .files import ClientFiles
from .identities import read_enrolment

CLIENT_FILE, KEYS_FILE = "client.toml", "keys.json"

KEYS: Mapping[str, Mapping[str, Key]] = {
    "data": {
        "file": Key("text", "the client's file, or a glob; relative to client.toml"),
        "id": DATA["id"],
        "secret": Key(
            "text", "what owners of columns share to find their records", default=None, hidden=True
        ),
        "gaps": DATA["gaps"],
        "batch_rows": DATA["batch_rows"],
    },
    "consent": {
        "studies": Key("texts", "names of studies; none: any", default=()),
        "authors": Key("texts", "who may ask, as in their certificate; none: any", default=()),
        "algorithms": Key("texts", "keys of algorithms that may cluster; none: all", default=()),
        "columns": Key("texts", "columns that may be used; none: all", default=()),
        "min_count": Key("whole", "records behind whatever is sent", default=2, low=1),
        "privacy": Key("text", "the least tier", default="none", choices=tuple(TIERS)),
        "max_rounds": Key("whole", "most rounds answered in one job", default=10_000, low=1),
        "max_queries": Key(
            "whole", "questions answered about these data, over all studies", default=1_000, low=1
        ),
        "epsilon": Key(
            "number",
            "with dp: what all studies together may tell of a record",
            default=None,
            low=0,
            above=True,
            high=100,
        ),
        "delta": Key(
            "number", "with dp: the chance of more", default=1e-6, low=0, above=True, high=1
        ),
        "max_descriptions": Key(
            "whole", "bounds or categories that a column may be asked with", default=3, low=1
        ),
        "max_clusters": Key("whole", "most clusters", default=1_000, low=1),
        "split_columns": Key(
            "flag", "studies over split columns, which tell distances between rows", default=False
        ),
        "max_bins": Key("whole", "most bins of a histogram", default=512, low=2),
    },
    "output": {
        "labels": Key("text", "folder for labels", default="labels"),
        "disclosures": Key("text", "what left, a line each", default="disclosures.jsonl"),
        "ledger": Key("text", "questions answered so far", default="ledger.jsonl"),
    },
}


@dataclass(frozen=True)
class ClientFile:
    """A client's own configuration; paths are resolved against its folder."""

    path: Path
    data: Mapping[str, Any]
    consent: Mapping[str, Any]
    output: Mapping[str, Any]

    def files(self) -> list[Path]:
        """The client's data files; a glob may name several."""
        found = named_files(self.place(self.data["file"]))
        if not found:
            raise ConfigError(f"{self.path}: there is no file {self.data['file']}")
        return found

    def open_files(self, name: str, *, in_memory: bool = False) -> ClientFiles:
        """The files, as the client of that name reads them."""
        data = self.data
        batch_rows = 0 if in_memory else data["batch_rows"]
        return ClientFiles(
            name, self.files(), na_values=data["gaps"], id=data["id"], batch_rows=batch_rows
        )

    def policy(self, *, remembers: bool = False) -> ClientPolicy:
        """The keeper of this client's keys, and of what its data have released, for good.

        Where every message is a process of its own, keys of running runs are in a file.
        """
        consent = self.consent
        limits = Limits(
            max_rounds=consent["max_rounds"],
            max_queries=consent["max_queries"],
            epsilon=consent["epsilon"],
            delta=consent["delta"],
        )
        identity, peers = read_enrolment(self.path.parent)
        ledger = Ledger(self.place(self.output["ledger"]))
        keys = self.place(KEYS_FILE) if remembers else None
        return ClientPolicy(identity, peers=peers, limits=limits, ledger=ledger, keys=keys)

    def place(self, name: str) -> Path:
        """A path of the file, as seen from its folder."""
        return self.path.parent / name


def read_client_file(path: Path) -> ClientFile:
    """The configuration that a client.toml holds."""
    sections, _, lines = read_tables(path, KEYS)
    for key in sections["consent"]["algorithms"]:
        if key not in ALGORITHMS:
            raise lines.error(
                ("consent", "algorithms"),
                f"there is no algorithm {key!r}{did_you_mean(key, ALGORITHMS)}",
            )
    if sections["data"]["secret"] is not None:
        try:
            secret_bytes(sections["data"]["secret"])
        except ConfigError as problem:
            raise lines.error(("data", "secret"), str(problem)) from None
    consent = sections["consent"]
    if TIERS[consent["privacy"]].noisy and consent["epsilon"] is None:
        raise lines.error(
            ("consent", "privacy"),
            f"privacy = {consent['privacy']!r} needs epsilon: what all studies together may tell "
            "of a record, such as epsilon = 1.0",
        )
    return ClientFile(path, **sections)
