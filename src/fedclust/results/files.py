"""Read and write the JSON files of a run's folder."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from ..core import ConfigError, DataError
from ..core.files import write_text
from .codec import build, to_json

T = TypeVar("T")


def write_record(file: Path, record: Any) -> None:
    """Write a record as JSON, completely or not at all."""
    write_text(file, json.dumps(to_json(record), indent=1, allow_nan=False))


def write_lines(file: Path, records: Iterable[Any]) -> None:
    """Write one line of JSON for each record."""
    lines = [json.dumps(to_json(record), allow_nan=False) for record in records]
    write_text(file, "".join(line + "\n" for line in lines))


def read_record(file: Path, kind: type[T]) -> T:
    """Read the record that `write_record` wrote."""
    return build(kind, parse_json(read_text(file), str(file)), str(file))


def read_lines(file: Path, kind: type[T]) -> tuple[T, ...]:
    """Read the records that `write_lines` wrote; empty lines are skipped."""
    lines = [
        (f"{file}:{number}", line)
        for number, line in enumerate(read_text(file).splitlines(), 1)
        if line.strip()
    ]
    return tuple(build(kind, parse_json(line, where), where) for where, line in lines)


def read_text(file: Path) -> str:
    """The text of a file of a run's folder."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        folder = "" if file.parent == Path() else f"{file.parent}: "
        raise ConfigError(f"{folder}there is no {file.name}; give the folder of a run") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"{file}: not readable as text in UTF-8 ({problem})") from None


def parse_json(text: str, where: str) -> Any:
    """The value of a JSON text; `where` names its file in errors."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as problem:
        raise DataError(f"{where}: not JSON ({problem}); run the study again") from None
