"""A first study file from the columns of the clients' files, with a word on each choice."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...client.files import is_index
from ...core import ConfigError, DataError
from ...data.files import named_files, read_table
from ...data.formats import Columns, format_of
from ...data.streams import column_kinds
from ...data.values import NA_VALUES, is_missing
from ...typing import Array

_FEW_CATEGORIES = 12
_SAMPLE_BYTES = 2**28  # larger files are known by their columns' names and kinds only

_NO_ID = '# id = "patient"               # a column that names records; it is not a feature'
_HEAD = """\
# A fedclust study. Check it with: fedclust check {name}    Run it with: fedclust run {name}

[clients]                        # whose files are asked; a glob such as "north/*.parquet" is fine
{clients}

[clustering]
algorithm = "lossless"           # the clusters that pooling all rows would give
n_clusters = {n_clusters}{n_clusters_note}
# fuzzy = true                   # fuzzy c-means: memberships instead of labels
# n_init = 5                     # starts, of which the best is kept
seed = 0

[data]
{id}
missing = "drop"                 # rows with gaps are left out; or "mean", "median-of-means"
scaling = "standard"             # or "min-max", "none"

[features]                       # what rows are compared by; units and public bounds are optional
{features}
"""


def draft(clients: Mapping[str, Path], target: Path, n_clusters: int | str = "auto") -> str:
    """The text of a study of these clients' files."""
    if not clients:
        raise ConfigError("fedclust init needs the files of one client at least")
    tables = {client: _columns(_found(client, file), NA_VALUES) for client, file in clients.items()}
    shared = [n for n in next(iter(tables.values())) if all(n in t for t in tables.values())]
    if not shared:
        raise DataError("the clients' files share no column")
    id = _id(shared, tables)
    features = [_feature(n, tables) for n in shared if n != id]
    if all(line.startswith("#") for line in features):
        raise DataError("the clients' files share no column of numbers")
    return _HEAD.format(
        name=target.name,
        clients="\n".join(f"{_key(c)} = {_text(_beside(f, target))}" for c, f in clients.items()),
        n_clusters=_text(n_clusters) if isinstance(n_clusters, str) else n_clusters,
        n_clusters_note="              # chosen by the data, or a number"
        if n_clusters == "auto"
        else "",
        id=f"id = {_text(id)}" if id else _NO_ID,
        features="\n".join(features),
    )


def _found(client: str, file: Path) -> Path:
    """The file, or the first of those that a glob names."""
    there = named_files(file)
    if not there:
        raise DataError(f"client {client!r}: there is no file {file}")
    return there[0]


def _columns(file: Path, gaps: tuple[str, ...]) -> Columns:
    if format_of(file).batches is not None and file.stat().st_size > _SAMPLE_BYTES:
        empty = {True: np.empty(0), False: np.empty(0, dtype=object)}
        return {name: empty[is_number] for name, is_number in column_kinds([file], gaps).items()}
    return read_table([file], gaps)


def _id(shared: Sequence[str], tables: Mapping[str, Columns]) -> str | None:
    """A column that is called an id, else one of words; no value of it stands twice."""
    called = [n for n in shared if n.lower() == "id" or n.lower().endswith(("_id", "-id", " id"))]
    words = [n for n in shared if all(_holds_words(table[n]) for table in tables.values())]
    for name in (*called, *words):
        columns = [table[name] for table in tables.values()]
        if all(0 < len(values) == len(set(map(str, values))) for values in columns):
            return name
    return None


def _holds_words(values: Array) -> bool:
    """Words, and no dates or numbers with separators, which begin with a digit."""
    there = [v for v in values.tolist() if not is_missing(v)]
    return values.dtype.kind == "O" and not any(str(v)[:1].isdigit() for v in there)


def _feature(name: str, tables: Mapping[str, Columns]) -> str:
    columns = [table[name] for table in tables.values()]
    if is_index(name):
        return "# a column without a name: it numbers rows"
    if all(values.dtype.kind in "fiu" for values in columns):
        empty = any(len(values) and np.isnan(values).all() for values in columns)
        return f"# {_key(name)}: has no value" if empty else f"{_key(name)} = {{}}"
    words = sorted(
        {str(v) for table in tables.values() for v in table[name].tolist() if not is_missing(v)}
    )
    if 0 < len(words) <= _FEW_CATEGORIES:
        return f"# {_key(name)} = {{ categories = {_text(words)} }}"
    return f"# {_key(name)}: holds words"


def _beside(file: Path, target: Path) -> str:
    """Relative to the study if it is below it: the folder can then be moved."""
    try:
        return str(file.absolute().relative_to(target.absolute().parent))
    except ValueError:
        return str(file.absolute())


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _text(name)


def _text(value: object) -> str:
    """A text, or a list of texts, as TOML has it: as JSON has it."""
    return json.dumps(value, ensure_ascii=False)
