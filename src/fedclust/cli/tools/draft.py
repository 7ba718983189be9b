"""Draft a study file from the columns of the clients' files, with comments."""

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
_SAMPLE_BYTES = 2**28  # of larger files only the columns' names and kinds are read

_NO_ID = '# id = "patient"               # a column that identifies records; it is not a feature'
_HEAD = """\
# A fedclust study. Check it with: fedclust check {name}    Run it with: fedclust run {name}

[clients]                        # one file per client, or a glob such as "north/*.parquet"
{clients}

[clustering]
algorithm = "lossless"           # same result as on pooled rows
n_clusters = {n_clusters}{n_clusters_note}
# fuzzy = true                   # fuzzy c-means: memberships instead of labels
# n_init = 5                     # number of starts; the best result is kept
seed = 0

[data]
{id}
missing = "drop"                 # leave out rows with missing values; or "mean", "median-of-means"
scaling = "standard"             # or "min-max", "none"

[features]                       # columns to cluster by; units and public bounds are optional
{features}
"""


def draft(clients: Mapping[str, Path], target: Path, n_clusters: int | str = "auto") -> str:
    """The text of a study file for these clients."""
    if not clients:
        raise ConfigError("fedclust init needs the file of at least one client")
    tables = {
        client: _columns(_first_file(client, file), NA_VALUES) for client, file in clients.items()
    }
    shared = [n for n in next(iter(tables.values())) if all(n in t for t in tables.values())]
    if not shared:
        raise DataError("the clients' files share no column")
    id = _find_id(shared, tables)
    features = [_feature(n, tables) for n in shared if n != id]
    if all(line.startswith("#") for line in features):
        raise DataError("the clients' files share no numeric column")
    return _HEAD.format(
        name=target.name,
        clients="\n".join(f"{_key(c)} = {_text(_relative(f, target))}" for c, f in clients.items()),
        n_clusters=_text(n_clusters) if isinstance(n_clusters, str) else n_clusters,
        n_clusters_note="              # chosen from the data; or a number"
        if n_clusters == "auto"
        else "",
        id=f"id = {_text(id)}" if id else _NO_ID,
        features="\n".join(features),
    )


def _first_file(client: str, file: Path) -> Path:
    """The file, or the first file that matches a glob."""
    files = named_files(file)
    if not files:
        raise DataError(f"client {client!r}: there is no file {file}")
    return files[0]


def _columns(file: Path, na_values: tuple[str, ...]) -> Columns:
    if format_of(file).batches is not None and file.stat().st_size > _SAMPLE_BYTES:
        empty = {True: np.empty(0), False: np.empty(0, dtype=object)}
        return {
            name: empty[is_number] for name, is_number in column_kinds([file], na_values).items()
        }
    return read_table([file], na_values)


def _find_id(shared: Sequence[str], tables: Mapping[str, Columns]) -> str | None:
    """A column whose values are unique: one named like an id, else one that holds text."""
    named_id = [n for n in shared if n.lower() == "id" or n.lower().endswith(("_id", "-id", " id"))]
    texts = [n for n in shared if all(_holds_text(table[n]) for table in tables.values())]
    for name in (*named_id, *texts):
        columns = [table[name] for table in tables.values()]
        if all(0 < len(values) == len(set(map(str, values))) for values in columns):
            return name
    return None


def _holds_text(values: Array) -> bool:
    """Whether the values are text, and not dates or formatted numbers, which start with a digit."""
    present = [v for v in values.tolist() if not is_missing(v)]
    return values.dtype.kind == "O" and not any(str(v)[:1].isdigit() for v in present)


def _feature(name: str, tables: Mapping[str, Columns]) -> str:
    columns = [table[name] for table in tables.values()]
    if is_index(name):
        return "# a column without a name: row numbers"
    if all(values.dtype.kind in "fiu" for values in columns):
        empty = any(len(values) and np.isnan(values).all() for values in columns)
        return f"# {_key(name)}: all values are missing" if empty else f"{_key(name)} = {{}}"
    texts = sorted(
        {str(v) for table in tables.values() for v in table[name].tolist() if not is_missing(v)}
    )
    if 0 < len(texts) <= _FEW_CATEGORIES:
        return f"# {_key(name)} = {{ categories = {_text(texts)} }}"
    return f"# {_key(name)}: holds text"


def _relative(file: Path, target: Path) -> str:
    """A path relative to the study file where possible, so that the folder can be moved."""
    try:
        return str(file.absolute().relative_to(target.absolute().parent))
    except ValueError:
        return str(file.absolute())


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _text(name)


def _text(value: object) -> str:
    """A string or a list of strings in TOML, whose notation is that of JSON."""
    return json.dumps(value, ensure_ascii=False)
