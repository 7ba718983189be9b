"""Draft a study file from the columns of the clients' files, with comments."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ...client.files import is_index
from ...clustering.preparation.column import DERIVED
from ...core import ConfigError, DataError
from ...data.dates import AmbiguousDate, date_order, parse_dates
from ...data.kinds import Kind
from ...data.names import near_names
from ...data.plausible import Suggestion, ask_for_bounds, suggest_bounds
from ...data.settings import ReadOptions
from .client_tables import Tables, notes_about, notes_about_column, open_table

_FEW_CATEGORIES = 12
_MANY_NAMES = 10
_FEW_NAMES = 4  # of columns, in an error message
_SHARED_IDS = 0.5  # of the ids of the smaller file, for a proposal to split columns
_ID_NAMES = re.compile(
    r"(.*[_\W])?(id|ids|uuid|guid|key|patient|person|subject|customer|record)([_\W]?(id|no|nr|key))?",
    re.IGNORECASE,
)

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
{data}
missing = "drop"                 # leave out rows with missing values; or {others}
scaling = "standard"             # or "min-max", "none"

[features]                       # columns to cluster by; units and public bounds are optional
{features}
"""


@dataclass(frozen=True)
class Draft:
    """The text of a study file, and what the user should know about the clients' files."""

    text: str
    notes: tuple[str, ...]


def draft(
    clients: Mapping[str, Path],
    target: Path,
    n_clusters: int | str = "auto",
    settings: Mapping[str, Any] | None = None,
) -> Draft:
    """A study file for these clients; `settings` are keys of [data] that are about reading."""
    if not clients:
        raise ConfigError("fedclust init needs the file of at least one client")
    given = dict(settings or {})
    known = {field.name for field in fields(ReadOptions)}
    options = ReadOptions(**{name: value for name, value in given.items() if name in known})
    tables = {client: open_table(client, file, options) for client, file in clients.items()}
    shared = [
        n
        for n in next(iter(tables.values())).columns
        if all(n in table.columns for table in tables.values())
    ]
    if not shared:
        raise DataError(f"the clients' files share no column{_near(tables) or _held(tables)}")
    id = given.pop("id", None) or _find_id(shared, tables)
    by_columns = (
        id is not None and shared == [id] and not _near(tables) and _same_records(id, tables)
    )
    features = list(_owned(id, tables) if by_columns else _shared(shared, id, tables))
    if all(line.startswith("#") for line in features):
        raise DataError(
            f"the clients' files share no numeric column{_near(tables) or _held(tables)}"
        )
    orders = {} if options.dates else _date_orders(tables)
    common = len(set(orders.values())) == 1
    data = [*_data(id, by_columns), *_given(given), *_dates(orders)]
    text = _HEAD.format(
        name=target.name,
        clients="\n".join(
            _client(c, _relative(f, target), tables, None if common else orders.get(c))
            for c, f in clients.items()
        ),
        **_n_clusters(n_clusters, by_columns),
        data="\n".join(data),
        others='"mean"' if by_columns else '"partial", "mean", "median-of-means"',
        features="\n".join(features),
    )
    asked = "" if by_columns else ask_for_bounds(_plausible(features, tables))
    return Draft(text, (*_notes(tables, by_columns), *filter(None, [asked])))


def _plausible(features: Sequence[str], tables: Tables) -> Iterator[tuple[str, str]]:
    """Drafted features whose names suggest bounds that hold in the files, without a unit."""
    for line in features:
        name, numeric, _ = line.partition(" = {}")
        name = name.strip('"')
        known = suggest_bounds(name)
        if numeric and known and all(_within(t.columns[name], known) for t in tables.values()):
            yield name, ""


def _within(values: Any, known: Suggestion) -> bool:
    if values.dtype.kind not in "fiu":
        return False  # words among the numbers, which a note mentions
    seen = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return bool(((seen >= known.low) & (seen <= known.high)).all())


def _near(tables: Tables) -> str:
    """Names that probably were meant to be the same, for an error message."""
    hints = near_names({table.file.name: table.columns for table in tables.values()})
    if not hints:
        return ""
    more = f", and {len(hints) - 1} more pairs are as close" if len(hints) > 1 else ""
    return f"; {hints[0]}{more}; rename one{' of each' if more else ''}"


def _held(tables: Tables) -> str:
    """What the first two files hold, and how they were read, for an error message."""
    held = []
    for table in list(tables.values())[:2]:
        names = ", ".join(map(repr, list(table.columns)[:_FEW_NAMES]))
        more = ", ..." if len(table.columns) > _FEW_NAMES else ""
        reading = f" ({table.reading.text})" if table.reading.text else ""
        held.append(f"{table.file.name}{reading} has {names}{more}")
    return f"; {', and '.join(held)}"


def _notes(tables: Tables, by_columns: bool) -> Iterator[str]:
    yield from notes_about(tables)
    if by_columns:
        yield "the files share ids and no other column, so the study splits columns"


def _client(client: str, file: str, tables: Tables, dates: str | None) -> str:
    line = f"{_key(client)} = {_text(file)}"
    if dates:
        line = f'{_key(client)} = {{ file = {_text(file)}, dates = "{dates}" }}'
    reading = tables[client].reading.text
    return f"{line}    # {_text(reading)[1:-1]}" if reading else line


def _n_clusters(wanted: int | str, by_columns: bool) -> dict[str, Any]:
    if by_columns and wanted == "auto":
        return {
            "n_clusters": 3,
            "n_clusters_note": "                   # split columns need a number",
        }
    note = "              # chosen from the data; or a number" if wanted == "auto" else ""
    shown = _text(wanted) if isinstance(wanted, str) else wanted
    return {"n_clusters": shown, "n_clusters_note": note}


def _data(id: str | None, by_columns: bool) -> Iterator[str]:
    if by_columns:
        yield 'split = "columns"                # each client has other columns of the same records'
    yield f"id = {_text(id)}" if id else _NO_ID


def _given(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        yield f"{name} = {_text(list(value) if isinstance(value, tuple) else value)}"


def _date_orders(tables: Tables) -> dict[str, str | None]:
    """The order of day and month at each client whose dates need it; None: they do not show it."""
    orders = {}
    for client, table in tables.items():
        names = [name for name in table.columns if _is_ambiguous(name, table)]
        if names:
            orders[client] = date_order(word for name in names for word in table.words(name))
    return orders


def _dates(orders: Mapping[str, str | None]) -> Iterator[str]:
    """The order of day and month, if all clients that need one have the same."""
    known = set(orders.values())
    if None in known:
        yield '# dates = "day-first"            # or "month-first": 03/04/2024 can be either'
    elif len(known) == 1:
        (order,) = known
        yield f"{f'dates = {_text(order)}':33}# as the dates show"


def _is_ambiguous(name: str, table: Any) -> bool:
    if table.kinds[name] is not Kind.DATES:
        return False
    try:
        parse_dates(table.columns[name])
    except AmbiguousDate:
        return True
    except ValueError:
        return False
    return False


def _find_id(shared: Sequence[str], tables: Tables) -> str | None:
    """A column whose values are unique in each file: one named like an id, else one of text."""
    named = [name for name in shared if _ID_NAMES.fullmatch(name.strip())]
    texts = [name for name in shared if all(t.kinds[name] is Kind.TEXT for t in tables.values())]
    for name in (*named, *texts):
        if all(_are_ids(table.records(name)) for table in tables.values()):
            return name
    return None


def _are_ids(values: Any) -> bool:
    """Whether no value is missing or repeated, and numbers are integers."""
    if len(values) == 0 or values.dtype.kind == "M":
        return False
    if values.dtype.kind == "f" and not np.array_equal(values, np.round(values)):
        return False
    listed = values.tolist()
    return None not in listed and len(set(map(str, listed))) == len(listed)


def _same_records(id: str, tables: Tables) -> bool:
    """Whether the files have ids in common, so that they may describe the same records."""
    ids = [set(map(str, table.records(id).tolist())) for table in tables.values()]
    common = set.intersection(*ids)
    return len(ids) > 1 and len(common) >= _SHARED_IDS * min(map(len, ids))


def _shared(shared: Sequence[str], id: str | None, tables: Tables) -> Iterator[str]:
    for name in shared:
        if name != id:
            yield from _feature(name, tables)
    others = dict.fromkeys(n for t in tables.values() for n in t.columns if n not in shared)
    if others:
        more = ", ..." if len(others) > _MANY_NAMES else ""
        listed = ", ".join(_key(name) for name in list(others)[:_MANY_NAMES])
        yield f'# not in all files: {listed}{more}; with missing = "partial" they can be used'


def _owned(id: str | None, tables: Tables) -> Iterator[str]:
    for client, table in tables.items():
        yield f"# columns of {_key(client)}"
        for name in table.columns:
            if name != id:
                yield from _feature(name, {client: table})


def _feature(name: str, tables: Tables) -> Iterator[str]:
    if is_index(name):
        yield "# a column without a name: row numbers"
        return
    having = [table for table in tables.values() if name in table.columns]
    yield from (f"# {_key(name)}: {_comment(note)}" for note in notes_about_column(name, tables))
    kinds = {table.kinds[name] for table in having}
    if all(kind.numeric for kind in kinds):
        empty = any(_is_empty(table.columns[name]) for table in having)
        yield f"# {_key(name)}: all values are missing" if empty else f"{_key(name)} = {{}}"
    elif kinds == {Kind.DATES}:
        others = ", ".join(part for part in DERIVED if part != "year")
        yield f'# {_key(name)} = {{ derive = "year" }}    # dates; or {others}'
    else:
        yield _text_column(name, sorted({w for table in having for w in table.words(name)}))


def _text_column(name: str, words: Sequence[str]) -> str:
    if 0 < len(words) <= _FEW_CATEGORIES:
        return f"# {_key(name)} = {{ categories = {_text(words)} }}"
    return f"# {_key(name)}: holds text"


def _is_empty(values: Any) -> bool:
    return values.dtype.kind in "fiu" and len(values) > 0 and bool(np.isnan(values).all())


def _relative(file: Path, target: Path) -> str:
    """A path relative to the study file where possible, so that the folder can be moved."""
    try:
        return str(file.absolute().relative_to(target.absolute().parent))
    except ValueError:
        return str(file.absolute())


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _text(name)


def _comment(text: str) -> str:
    return _text(text)[1:-1].replace('\\"', '"')


def _text(value: object) -> str:
    """A value in TOML, whose notation of strings and lists is that of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
