"""The keys of a study file: the one place that parsing, the JSON schema and the docs read."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..algorithms import ALGORITHMS, SEEDINGS
from ..clustering.preparation.prepare import MISSING, SCALINGS
from ..data.formats import label_suffixes, writes_labels
from ..data.values import NA_VALUES
from ..privacy.lookup import TIERS

K_RANGE = (2, 15)  # with n_clusters = "auto"
SPLITS = ("rows", "columns")
RECORD_STARTS = ("records", "partition")  # over split columns; "auto" is k-means++ there
NOTHING = object()  # there is no default: the key must be given


class LabelChoices(Collection[str]):
    """The formats that labels can be written in, by suffix, and "none".

    A format can be registered at any time, so formats are looked up whenever they are needed.
    """

    def __contains__(self, value: object) -> bool:
        return value == "none" or (isinstance(value, str) and writes_labels(f".{value}"))

    def __iter__(self) -> Iterator[str]:
        yield from (suffix.removeprefix(".") for suffix in label_suffixes())
        yield "none"

    def __len__(self) -> int:
        return len(label_suffixes()) + 1


@dataclass(frozen=True)
class Key:
    """One key of a table: what it may be, and what it is if it is not given."""

    kind: str  # "text", "whole", "number", "flag", "texts", "values", "count", "range"
    help: str
    default: Any = NOTHING
    choices: Collection[str] = ()
    low: float | None = None
    high: float | None = None
    above: bool = False  # `low` itself is too low
    hidden: bool = False  # its value is never repeated


CLUSTERING: Mapping[str, Key] = {
    "algorithm": Key(
        "text", "lossless, or the key of an algorithm", choices=("lossless", *ALGORITHMS)
    ),
    "n_clusters": Key("count", 'number of clusters, or "auto": chosen by the data', low=1),
    "k_range": Key("range", "with auto: fewest and most clusters tried", default=None, low=2),
    "fuzzy": Key("flag", "with lossless: fuzzy c-means, not k-means", default=None),
    "fuzzifier": Key("number", "how soft memberships are", default=None, low=1.0, above=True),
    "init": Key(
        "text", "the start", default="auto", choices=("auto", "cells", *SEEDINGS, *RECORD_STARTS)
    ),
    "n_init": Key("whole", "starts, of which the best is kept", default=1, low=1),
    "max_rounds": Key("whole", "most rounds", default=None, low=1),
    "tol": Key("number", "a run ends when centres move less", default=None, low=0.0),
    "seed": Key("whole", "of all random numbers", default=0, low=0),
}
DATA: Mapping[str, Key] = {
    "split": Key(
        "text",
        "what is split between clients: rows, or the columns of the same records",
        default="rows",
        choices=SPLITS,
    ),
    "id": Key("text", "a column that names records: it is not a feature", default=None),
    "missing": Key("text", "what is done with gaps", default="drop", choices=MISSING),
    "scaling": Key(
        "text",
        "one scale for all columns; else standard, or min-max where sums are hidden",
        default=None,
        choices=SCALINGS,
    ),
    "batch_rows": Key(
        "whole",
        "rows read at a time; 0: all; else files of 1 GB or more in batches",
        default=None,
        low=0,
    ),
    "gaps": Key("texts", "words in text files that stand for a gap", default=NA_VALUES),
}
OUTPUTS: Mapping[str, Key] = {
    "labels": Key("text", "how labels are written", default="parquet", choices=LabelChoices()),
    "labels_in": Key(
        "text",
        "beside each client's data, or in the run's folder",
        default="data",
        choices=("data", "run"),
    ),
    "report": Key("flag", "write report.html", default=True),
}
PARTICIPATION: Mapping[str, Key] = {
    "fraction": Key(
        "number", "share of clients in a round", default=1.0, low=0.0, high=1.0, above=True
    ),
    "min_clients": Key("whole", "fewest clients in a round", default=1, low=1),
}
PRIVACY_KEYS: Mapping[str, Key] = {
    "tier": Key(
        "text",
        "how far clients are protected; else none in one process, secure across machines",
        default=None,
        choices=tuple(TIERS),
    ),
    "epsilon": Key("number", "with dp: what a record may tell", default=None, low=0, above=True),
    "delta": Key("number", "with dp: the chance of more", default=None, low=0, high=1, above=True),
    "change": Key("whole", "guarded, secure: fewest rows to change", default=None, low=2),
    "max_queries": Key(
        "whole", "guarded, secure: questions answered per data set", default=None, low=1
    ),
    "min_count": Key(
        "whole", "not dp: fewest rows behind a number in report or scale", default=5, low=1
    ),
}
FEATURE: Mapping[str, Key] = {
    "unit": Key("text", "unit of measurement", default=""),
    "low": Key("number", "public lower bound", default=None),
    "high": Key("number", "public upper bound", default=None),
    "log": Key("flag", "take the logarithm", default=False),
    "categories": Key("values", "the values of a column that holds no quantity", default=()),
}
SECTIONS: Mapping[str, Mapping[str, Key]] = {
    "clustering": CLUSTERING,
    "data": DATA,
    "outputs": OUTPUTS,
    "sampling": PARTICIPATION,
    "privacy": PRIVACY_KEYS,
}
FREE = ("clients", "features")  # tables whose keys are the user's own names
