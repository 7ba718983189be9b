"""A study from data frames: written to files, run, and removed; only the run's folder stays."""

import json
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..clustering.model import Model
from ..core import ConfigError, DataError, did_you_mean
from ..core.extras import install_command, missing_extras
from ..data.client_tables import as_column, rows_by_owner
from .journal import OnRound
from .known_words import with_known_words
from .phases import OnPhase
from .read import read_study
from .run import Outcome
from .run import run_study as run_files
from .settings import Study
from .table_columns import describe_unused, refuse_odd_names, refuse_strangers

_SUFFIX = "-run"  # of the default folder, after the name of the study


@with_known_words
def run_study(
    data: Any,
    folder: str | Path | None = None,
    *,
    clients: Any = None,
    n_clusters: int | str = "auto",
    algorithm: str = "lossless",
    privacy: str | Mapping[str, Any] = "none",
    features: Mapping[str, Any] | Sequence[str] | None = None,
    clustering: Mapping[str, Any] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    title: str = "",
    force: bool = False,
    on_phase: OnPhase | None = None,
    on_round: OnRound | None = None,
) -> Outcome:
    """Run a study over data frames, or of a study file, and write its folder with a report.

    The result is that of ``fedclust run`` over the same tables in Parquet files, bit for bit. While
    the study runs, the tables are in a folder for temporary files that only this user can read.

    Parameters
    ----------
    data : dict of name to data frame, or data frame, or path of a study file
        One table per client, or one table with a column that names the owner of each row. Data
        frames are of pandas, Polars or Arrow, or a dict of columns.
    folder : path, optional
        The folder of the run; it must not exist. "study-run" for tables.
    clients : str or array-like, optional
        If ``data`` is one data frame, the column that names the owner of each row, or the owners.
    n_clusters : int or "auto", default="auto"
        Number of clusters; "auto" chooses it from the data and explains the choice.
    algorithm : str, default="lossless"
        As ``algorithm`` under [clustering] in a study file.
    privacy : str or dict, default="none"
        A tier, or the keys of [privacy].
    features : list of names, or dict of name to dict, optional
        The columns to cluster by; all numeric columns that every client has if None, and a warning
        names the others. A dict has units, public bounds or categories, as [features].
    clustering : dict, optional
        Further keys of [clustering], such as ``{"k_range": (2, 8), "fuzzy": True, "seed": 1}``.
    settings : dict of name to dict, optional
        Other tables of a study file, such as ``{"data": {"missing": "mean"}}``.
    title : str, optional
        The title of the report.
    force : bool, default=False
        Whether a run that exists in the folder is replaced.
    on_phase, on_round : callable, optional
        Called when a phase begins, and after every round.

    Returns
    -------
    outcome : Outcome
        ``outcome.model`` labels new rows, ``outcome.folder`` has report.html and the labels of each
        client, ``outcome.choice`` has the evidence for the number of clusters.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fedclust import run_study
    >>> rng = np.random.default_rng(0)
    >>> tables = {
    ...     name: {"age": rng.normal(mean, 3.0, 60), "dose": rng.normal(mean, 5.0, 60)}
    ...     for name, mean in {"north": 40, "south": 70}.items()
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run_study(tables, f"{folder}/run", n_clusters=2)
    ...     written = sorted(path.name for path in done.folder.iterdir())
    >>> written
    ['history.jsonl', 'labels', 'model.json', 'profile.json', 'report.html', 'study.toml']
    >>> done.model.predict({"age": [38.0], "dose": [44.0]})
    [0]
    """
    if isinstance(data, str | Path):
        study = read_study(data)
        where = study.path.with_name(study.path.stem + _SUFFIX) if folder is None else folder
        return _run(study, Path(where), force, on_phase, on_round)
    own_tables = _tables_of(data, clients)
    refuse_strangers(own_tables)
    target = Path(f"study{_SUFFIX}" if folder is None else folder)
    if absent := missing_extras(["study"]):
        raise ConfigError(f"the study needs more packages: {install_command(absent)}")
    tier = {"tier": privacy} if isinstance(privacy, str) else dict(privacy)
    wanted: dict[str, Mapping[str, Any]] = {
        "clustering": {"algorithm": algorithm, "n_clusters": n_clusters, **(clustering or {})},
        "privacy": tier,
        **({"features": _features(features)} if features else {}),
        **({"study": {"title": title}} if title else {}),
    }
    for name, table in {"outputs": {"labels_in": "run"}, **(settings or {})}.items():
        wanted[name] = {**wanted.get(name, {}), **table}
    with _scratch_folder() as scratch:
        path = scratch / f"{target.absolute().name.removesuffix(_SUFFIX) or 'study'}.toml"
        files = {client: f"{client}.parquet" for client in own_tables}
        path.write_text(_as_toml({"clients": files, **wanted}), encoding="utf-8")
        study = read_study(path)  # refuses names that are no file names
        for client, own in own_tables.items():
            _write(own, scratch / files[client], client)
        done = _run(study, target, force, on_phase, on_round)
    if not features:
        _warn_of_unused(done, own_tables, study)
    return done


def _warn_of_unused(done: Outcome, tables: Mapping[str, Any], study: Study) -> None:
    """Say which columns no feature is made of, and why."""
    if not isinstance(done.model, Model):
        return
    used = {column.name for column in done.model.preparation.columns} | {study.data.id or ""}
    if unused := describe_unused(tables, used):
        warnings.warn(
            f"columns were not used: {unused}; to use a column, list it in features, and give "
            "categories for text and booleans",
            UserWarning,
            stacklevel=3,
        )


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """A folder for this user alone; no message names it, or a line of a file in it."""
    with tempfile.TemporaryDirectory(prefix="fedclust-") as name:
        try:
            yield Path(name)
        except (ConfigError, DataError) as problem:
            text = re.sub(r"^[^:\n]+\.toml:\d+: ", "", str(problem).replace(f"{name}{os.sep}", ""))
            raise type(problem)(text) from None if text == str(problem) else problem


def _run(
    study: Study, folder: Path, force: bool, on_phase: OnPhase | None, on_round: OnRound | None
) -> Outcome:
    if folder.exists() and not force:
        raise ConfigError(f"{folder} exists already; give another folder, or force=True")
    return run_files(study, folder, force=True, on_phase=on_phase, on_round=on_round)


def _features(given: Mapping[str, Any] | Sequence[str]) -> Mapping[str, Any]:
    """The settings of each feature; a name alone has none."""
    if isinstance(given, Mapping):
        return given
    names = [given] if isinstance(given, str) else given
    return {str(name): {} for name in names}


def _tables_of(data: Any, clients: Any) -> dict[str, Any]:
    """The table of each client."""
    if clients is not None:
        return _split(_frame(data, "data"), clients)
    if not isinstance(data, Mapping):
        raise DataError(
            "data: expected a dict of name to data frame; for one data frame, name the column of "
            "owners, such as clients='hospital'"
        )
    if not data:
        raise DataError("data: there is no table; pass at least one")
    return {str(name): _frame(table, f"client {str(name)!r}") for name, table in data.items()}


def _split(frame: Any, clients: Any) -> dict[str, Any]:
    """The rows of each owner, without the column that names it."""
    import narwhals as nw

    owners, rest = clients, frame
    if isinstance(clients, str):
        owners, rest = _take_column(frame, clients)
    groups = rows_by_owner(as_column("clients", owners, len(frame)))
    return {name: nw.maybe_reset_index(rest[rows.tolist()]) for name, rows in groups.items()}


def _take_column(frame: Any, column: str) -> tuple[list[Any], Any]:
    """The values of a column, and the other columns."""
    if column not in frame.columns:
        near = did_you_mean(column, frame.columns)
        raise DataError(
            f"clients={column!r}: there is no such column; there are {', '.join(frame.columns)}"
            f"{near}"
        )
    return frame[column].to_list(), frame.drop(column)


def _frame(table: Any, who: str) -> Any:
    """The table as a data frame of narwhals, with names that are text."""
    import narwhals as nw
    import pyarrow as pa

    if hasattr(table, "collect") and hasattr(table, "collect_schema"):
        table = table.collect()  # a LazyFrame of Polars
    refuse_odd_names(list(getattr(table, "columns", ())), who)
    try:
        if isinstance(table, Mapping):
            table = pa.table({str(name): pa.array(list(v)) for name, v in table.items()})
        frame = nw.from_native(table, eager_only=True)
    except (TypeError, pa.ArrowException) as problem:
        what = type(table).__name__ if isinstance(problem, TypeError) else problem
        raise DataError(
            f"{who}: expected a data frame (pandas, Polars, Arrow) or a dict of columns, got {what}"
        ) from None
    frame = nw.maybe_reset_index(frame)  # the index of pandas is no column
    return frame.rename({name: str(name) for name in frame.columns})


def _write(frame: Any, file: Path, client: str) -> None:
    """Write a table as Parquet."""
    from pyarrow import parquet

    for name in frame.columns:
        if not _has_one_type(frame[name]):
            raise DataError(
                f"client {client!r}: column {name!r}: its values cannot be stored; use numbers, "
                "dates or text, and one of them in each column"
            )
    parquet.write_table(frame.to_arrow(), file)


def _has_one_type(column: Any) -> bool:
    """Whether a column can be stored in Parquet, and has no tables in its cells."""
    import pyarrow as pa

    try:
        found = column.to_arrow().type
    except (pa.ArrowException, TypeError, ValueError):
        return False
    return not pa.types.is_nested(found)


def _as_toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of a study file."""
    parts = [
        "\n".join(
            [
                f"[{_key(name)}]",
                *(f"{_key(key)} = {_value(v)}" for key, v in table.items() if v is not None),
            ]
        )
        for name, table in tables.items()
    ]
    return "\n\n".join(parts) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple | range):
        return f"[{', '.join(map(_value, value))}]"
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _key(name: object) -> str:
    """A key in TOML, without quotes where it needs none."""
    text = str(name)
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _text(text)


def _text(text: object) -> str:
    """A text in TOML, whose notation of strings is that of JSON."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")
