"""Read what a run left in its folder."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import ConfigError, DataError
from .shapes import CHOICE, COLUMNS, LINE, MODEL, PROFILE, Check

FORMAT = 1


@dataclass(frozen=True, eq=False)
class RunFiles:
    """The files of a run; numbers that are not finite are None."""

    model: Mapping[str, Any]
    history: tuple[Mapping[str, Any], ...]  # a line for each round
    profile: Mapping[str, Any]
    choice: Mapping[str, Any] | None  # None: the number of clusters was given
    study: str  # the study file as it was used

    @property
    def columns_split(self) -> bool:
        """Whether clients had different columns of the same records: then nobody knows them all."""
        return bool(self.model.get("split") == "columns")


def read_run(folder: Path) -> RunFiles:
    """The files of a run folder, checked."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: there is no such folder; give the folder that a run wrote")
    model_file = folder / "model.json"
    model = _parsed(_text(model_file), model_file)
    _check_format(model, model_file)
    MODEL(model, f"{model_file}: the file")
    if "split" in model:
        COLUMNS(model, f"{model_file}: the file")
    profile = _checked(folder / "profile.json", PROFILE)
    choice_file = folder / "choice.json"
    choice = _checked(choice_file, CHOICE) if choice_file.exists() else None
    run = RunFiles(
        model, _history(folder / "history.jsonl"), profile, choice, _text(folder / "study.toml")
    )
    _check_agreement(run, folder)
    return run


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"{file.parent}: there is no {file.name}; give the folder that a run wrote"
        ) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"{file}: not readable as text in UTF-8 ({problem})") from None


def _finite(written: str) -> float | None:
    value = float(written)
    return value if math.isfinite(value) else None


def _parsed(text: str, where: Path | str) -> Any:
    try:
        return json.loads(text, parse_float=_finite, parse_constant=lambda _: None)
    except (json.JSONDecodeError, RecursionError) as problem:
        raise DataError(f"{where}: not JSON ({problem}); run the study again") from None


def _checked(file: Path, shape: Check) -> Any:
    found = _parsed(_text(file), file)
    shape(found, f"{file}: the file")
    return found


def _check_format(model: Any, file: Path) -> None:
    found = model.get("format") if isinstance(model, Mapping) else None
    if found != FORMAT:
        raise DataError(
            f"{file}: format {found!r} is not known; this fedclust reads format {FORMAT}, so "
            "write the report with the fedclust that made the run"
        )


def _history(file: Path) -> tuple[Mapping[str, Any], ...]:
    found = []
    for place, line in enumerate(_text(file).splitlines(), 1):
        if line.strip():
            found.append(_parsed(line, f"{file}:{place}"))
            LINE(found[-1], f"{file}:{place}: the line")
    return tuple(found)


def _check_agreement(run: RunFiles, folder: Path) -> None:
    """Files of different runs in one folder would make a report of neither."""
    columns, clusters = list(run.model["columns"]), run.profile["clusters"]
    if not clusters or not (columns or run.columns_split):
        raise DataError(f"{folder}: the run has no clusters or no columns, so nothing to report")
    if [c["id"] for c in clusters] != [c["id"] for c in run.model["clusters"]]:
        raise DataError(f"{folder}: model.json and profile.json list different clusters")
    for cluster in clusters:
        if [f["name"] for f in cluster["features"]] != columns:
            raise DataError(
                f"{folder / 'profile.json'}: cluster {cluster['id']} lists other columns than "
                "model.json"
            )
    prepared = run.model["preparation"]
    for name in ("offset", "scale", "fill"):
        if prepared[name] is not None and len(prepared[name]) != len(columns):
            raise DataError(
                f"{folder / 'model.json'}: preparation.{name} must have a number for each of the "
                f"{len(columns)} columns"
            )
    _check_grid(run.profile["map"], folder / "profile.json")


def _check_grid(drawn: Mapping[str, Any] | None, file: Path) -> None:
    if drawn is None:
        return
    grid = drawn["grid"]
    wide, high = len(grid["x"]) - 1, len(grid["y"]) - 1
    for client, counts in grid["clients"].items():
        if len(counts) != high or any(len(row) != wide for row in counts):
            raise DataError(
                f"{file}: the map's grid of client {client!r} must have {high} rows (y) of {wide} "
                "counts (x)"
            )
