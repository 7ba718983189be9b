"""Settings as a JSON schema, so that editors complete and check files."""

from collections.abc import Iterable
from typing import Any

from .keys import Setting


def table_schema(settings: Iterable[Setting]) -> dict[str, Any]:
    """The JSON schema of a table with these keys and no others."""
    listed = list(settings)
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {setting.name: _schema(setting) for setting in listed},
        "required": [setting.name for setting in listed if setting.required],
    }


def _schema(setting: Setting) -> dict[str, Any]:
    key, kind = setting.key, setting.kind.schema
    schema: dict[str, Any] = {**kind, "description": key.help}
    if not setting.required and setting.default is not None:
        default = setting.default
        schema["default"] = list(default) if isinstance(default, tuple) else default
    if len(key.choices):
        names = {"enum": list(key.choices)}
        schema |= {"items": {**kind["items"], **names}} if "items" in kind else names
    if key.pattern:
        schema["pattern"] = f"^(?:{key.pattern})$"
    if "items" in kind:
        return schema
    least = "exclusiveMinimum" if key.above else "minimum"
    limits = {least: key.low, "maximum": key.high}
    return schema | {name: limit for name, limit in limits.items() if limit is not None}
