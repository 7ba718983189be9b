"""A TOML file whose errors name the line and the closest valid spelling."""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from ..core import ConfigError, did_you_mean
from .keys import Setting, settings_of
from .syntax import explain_syntax

T = TypeVar("T")

_TABLE = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+")
_KEY = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[\w-]+)\s*=")


class TomlFile:
    """The tables of a TOML file, and the line of each key."""

    def __init__(self, path: Path, tables: Mapping[str, Any], text: str = "") -> None:
        self.path, self.tables = path, tables
        self._lines = _line_numbers(text)

    @classmethod
    def read(cls, path: Path, known: Collection[str]) -> Self:
        """Read a file that has known tables only."""
        text = _read_text(path)
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise ConfigError(explain_syntax(path, text, str(problem))) from None
        file = cls(path, tables, text)
        for name, table in tables.items():
            if name not in known:
                longer = [other for other in known if other.startswith(name)][:1]
                near = did_you_mean(name, longer or known)
                raise file.error((name,), f"there is no table [{name}]{near}")
            if not isinstance(table, dict):
                raise file.error((name,), f"{name} must be a table: [{name}]")
        return file

    @property
    def given(self) -> frozenset[tuple[str, str]]:
        """Table and key of every value in the file."""
        return frozenset((name, key) for name, table in self.tables.items() for key in table)

    def error(self, where: tuple[str, ...], message: str) -> ConfigError:
        """An error at the line of a key, or else of its table."""
        line = self._lines.get(where) or self._lines.get(where[:-1])
        place = f"{self.path}:{line}" if line else str(self.path)
        return ConfigError(f"{place}: {message}")

    def section(self, owner: type[T], *where: str) -> T:
        """A table as an instance of a settings class."""
        values = self.values(settings_of(owner), *where)
        try:
            return owner(**values)
        except ConfigError as problem:  # the class has checks of its own
            raise self.error(where, str(problem)) from None

    def values(self, settings: Iterable[Setting], *where: str) -> dict[str, Any]:
        """The values that a table gives, each checked against its setting."""
        table: Mapping[str, Any] = self.tables
        for name in where:
            table = table.get(name, {})
        by_name = {setting.name: setting for setting in settings}
        title = f"[{'.'.join(where)}]"
        for name in table:
            if name not in by_name:
                ours = next((s.name for s in by_name.values() if s.is_called(name)), None)
                near = f"; use {ours}" if ours else did_you_mean(name, by_name)
                raise self.error((*where, name), f"{title} has no key {name!r}{near}")
        for name, setting in by_name.items():
            if setting.required and name not in table:
                raise self.error((*where, name), f"{title} needs {name}: {setting.key.help}")
        return {name: self._checked(by_name[name], value, where) for name, value in table.items()}

    def _checked(self, setting: Setting, value: Any, where: tuple[str, ...]) -> Any:
        if expected := setting.expected(value):
            if hint := setting.hint(value):
                text = f"{setting.name} = {value!r} is not known; {hint}"
                raise self.error((*where, setting.name), text)
            shown = ""
            if not setting.key.hidden:
                wrong = setting.unknown_choice(value) or value
                near = did_you_mean(wrong, setting.key.choices) if isinstance(wrong, str) else ""
                shown = f", got {wrong!r}{near}"
            raise self.error((*where, setting.name), f"{setting.name} must be {expected}{shown}")
        return tuple(value) if isinstance(value, list) else value


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder; give a file in it, such as study.toml") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not a text file in UTF-8; save it as UTF-8") from None
    except OSError as problem:
        raise ConfigError(f"{path}: cannot be read ({problem.strerror})") from None


def _line_numbers(text: str) -> dict[tuple[str, ...], int]:
    lines, table = {}, tuple[str, ...]()
    for number, line in enumerate(text.splitlines(), 1):
        if match := _TABLE.match(line):
            table = tuple(part.strip().strip("\"'") for part in match[1].split("."))
            lines[table] = number
        elif match := _KEY.match(line):
            lines[(*table, match[1].strip("\"'"))] = number
    return lines
