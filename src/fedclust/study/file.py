"""Read a study file: what is wrong is said with its line and the nearest valid spelling."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..algorithms import did_you_mean
from ..clustering.preparation import Column
from ..clustering.preparation.column import as_text
from ..core import ConfigError
from ..privacy import Tier
from .asked import asked_tier
from .contents import Study as Study
from .contradictions import contradictions, unprotected
from .keys import FEATURE, FREE, NOTHING, SECTIONS, Key


class Lines:
    """Where each key of a TOML text stands, so that errors can say so."""

    def __init__(self, path: Path, text: str, given: Mapping[str, Any] | None = None) -> None:
        tables = {name: table for name, table in (given or {}).items() if isinstance(table, dict)}
        self.given = frozenset((name, key) for name, table in tables.items() for key in table)
        self._path, self._line = path, {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), 1):
            if found := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
                table = tuple(p.strip().strip("\"'") for p in found[1].split("."))
                self._line[table] = number
            elif found := re.match(r"\s*(\"[^\"]*\"|'[^']*'|[\w-]+)\s*=", line):
                self._line[(*table, found[1].strip("\"'"))] = number

    def error(self, where: tuple[str, ...], words: str) -> ConfigError:
        line = self._line.get(where) or self._line.get(where[:-1])
        place = f"{self._path}:{line}" if line else str(self._path)
        return ConfigError(f"{place}: {words}")


def read_tables(
    path: Path, sections: Mapping[str, Mapping[str, Key]], free: tuple[str, ...] = ()
) -> tuple[dict[str, dict[str, Any]], dict[str, Any], Lines]:
    """A TOML file: the tables whose keys are known, those whose keys are free, and their lines."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
        given = tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder; name the file in it, such as study.toml") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ConfigError(f"{path}: {problem}") from None
    lines = Lines(path, text, given)
    known = (*free, *sections)
    for name, table in given.items():
        if name not in known:
            raise lines.error((name,), f"there is no table [{name}]{did_you_mean(name, known)}")
        if not isinstance(table, dict):
            raise lines.error((name,), f"{name} must be a table: [{name}]")
    found = {
        name: checked(given.get(name, {}), keys, (name,), lines) for name, keys in sections.items()
    }
    return found, {name: given.get(name) for name in free}, lines


def read_study(path: str | Path, *, files: bool = True) -> Study:
    """The study that a file describes; without `files` it need not name any client's."""
    path = Path(path)
    sections, given, lines = read_tables(path, SECTIONS, FREE)
    clients = _clients(given["clients"], lines) if files or given["clients"] else {}
    features = _features(given["features"], lines)
    if sections["data"]["split"] == "columns":  # every owner is needed, from the first round on
        sections["sampling"]["min_clients"] = max(len(clients), sections["sampling"]["min_clients"])
        if files and sections["data"]["id"] is None:
            words = 'split = "columns" aligns records by their ids: name the column by id'
            raise lines.error(("data", "id"), words)
    study = Study(path, clients, features, **sections, given=lines.given)
    for where, words in contradictions(study):
        raise lines.error(where, words)
    if study.privacy["tier"] is not None:
        try:
            tier = asked_tier(study, "none")
        except ConfigError as problem:
            raise lines.error(("privacy", "tier"), str(problem)) from None
        for where, words in unprotected(tier, study):
            raise lines.error(where, words)
    return study


def _clients(given: Any, lines: Lines) -> dict[str, str]:
    if not given:
        raise lines.error(("clients",), "no [clients]: give each client's name and its file")
    for name, file in given.items():
        if not name.strip() or name.startswith(".") or set(name) & set("/\\"):
            raise lines.error(
                ("clients", name),
                f"client {name!r}: its labels go into a file of its name; choose one without a "
                "slash or a leading dot",
            )
        if not isinstance(file, str) or not file.strip():
            raise lines.error(("clients", name), f"client {name!r} must have a file, got {file!r}")
    return dict(given)


def _features(given: Any, lines: Lines) -> tuple[Column, ...] | None:
    if given is None:
        return None
    if not given:
        raise lines.error(("features",), "[features] is empty: name columns, or leave it out")
    columns = []
    for name, table in given.items():
        where = ("features", name)
        if not isinstance(table, dict):
            raise lines.error(where, f'feature {name!r} must be a table, such as {{ unit = "kg" }}')
        settings = checked(table, FEATURE, where, lines)
        try:
            columns.append(Column(name, **settings))
        except ConfigError as problem:
            raise lines.error(where, str(problem)) from None
    return tuple(columns)


def checked(
    given: Mapping[str, Any], keys: Mapping[str, Key], where: tuple[str, ...], lines: Lines
) -> dict[str, Any]:
    """A table's values, each as its key demands; defaults where there is none."""
    for name in given:
        if name not in keys:
            raise lines.error(
                (*where, name),
                f"[{'.'.join(where)}] has no key {name!r}{did_you_mean(name, keys)}",
            )
    found = {}
    for name, key in keys.items():
        if name not in given:
            if key.default is NOTHING:
                raise lines.error(
                    (*where, name), f"[{'.'.join(where)}] must have {name}: {key.help}"
                )
            found[name] = key.default
            continue
        value = given[name]
        if wrong := _wrong(value, key):
            near = did_you_mean(value, key.choices) if isinstance(value, str) else ""
            shown = "" if key.hidden else f", got {value!r}{near}"
            raise lines.error((*where, name), f"{name} must be {wrong}{shown}")
        if key.kind == "values":
            value = [as_text(one) for one in value]
        found[name] = tuple(value) if isinstance(value, list) else value
    return found


_WORDS = {
    "text": "text",
    "flag": "true or false",
    "whole": "a whole number",
    "number": "a number",
    "texts": "a list of texts",
    "values": "a list of texts or numbers",
    "count": 'a whole number or "auto"',
    "range": "two whole numbers, the first below the second, such as [2, 15]",
}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _fits(value: Any, kind: str) -> bool:
    if kind == "range":
        pair = isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value))
        return pair and value[0] < value[1]
    return {
        "text": isinstance(value, str),
        "flag": isinstance(value, bool),
        "whole": _is_whole(value),
        "number": _is_whole(value) or isinstance(value, float),
        "texts": isinstance(value, list) and all(isinstance(v, str) for v in value),
        "values": isinstance(value, list) and all(isinstance(v, str | int | float) for v in value),
        "count": _is_whole(value) or value == "auto",
    }[kind]


def _wrong(value: Any, key: Key) -> str:
    """What the value should have been; empty if it is."""
    if not _fits(value, key.kind):
        return _WORDS[key.kind]
    if value == "auto":
        return ""
    if key.kind == "range":
        value = value[0]
    if value not in key.choices and key.choices:  # a known value needs no list of all choices
        return f"one of {', '.join(key.choices)}"
    if key.above and value == key.low:
        return f"above {key.low:g}"
    if key.low is not None and value < key.low:
        return f"{'above' if key.above else 'at least'} {key.low:g}"
    if key.high is not None and value > key.high:
        return f"at most {key.high:g}"
    return ""


def protected(study: Study, default: str) -> Tier:
    """The study's tier, or another if it names none; refused if it cannot hold."""
    tier = asked_tier(study, default)
    for _, words in unprotected(tier, study):
        raise ConfigError(f"{study.path}: {words}, or set [privacy] tier")
    return tier
