"""The keys of a study as a JSON schema, so that editors complete and check study files."""

from collections.abc import Mapping
from typing import Any

from .keys import FEATURE, NOTHING, SECTIONS, Key

_KINDS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "count": {"anyOf": [{"type": "integer"}, {"const": "auto"}]},
    "range": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
}


def json_schema() -> dict[str, Any]:
    """The keys as a JSON schema, for editors."""

    def one(key: Key) -> dict[str, Any]:
        kind = {**_KINDS[key.kind], "description": key.help}
        if key.default not in (NOTHING, None):
            kind["default"] = key.default
        if key.choices:
            kind["enum"] = list(key.choices)
        limits = {"minimum": key.low, "maximum": key.high}
        if key.kind == "range":
            return kind
        return kind | {name: limit for name, limit in limits.items() if limit is not None}

    def table(keys: Mapping[str, Key]) -> dict[str, Any]:
        needed = [name for name, key in keys.items() if key.default is NOTHING]
        properties = {name: one(key) for name, key in keys.items()}
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": properties,
            "required": needed,
        }

    free = {"clients": {"type": "string"}, "features": table(FEATURE)}
    tables = {name: {"type": "object", "additionalProperties": kind} for name, kind in free.items()}
    tables |= {name: table(keys) for name, keys in SECTIONS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fedclust study",
        "type": "object",
        "additionalProperties": False,
        "properties": tables,
        "required": ["clients", "clustering"],
    }
