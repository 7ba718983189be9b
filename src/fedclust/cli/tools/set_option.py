"""``--set KEY=VALUE``: settings of a study file on the command line."""

import tomllib
from collections.abc import Sequence
from typing import Any

from ...core import ConfigError, did_you_mean
from ...settings import settings_of


def parse_settings(given: Sequence[str], owner: type) -> dict[str, Any]:
    """The settings of a class, checked as those in a file; text needs no quotes."""
    known = {setting.name: setting for setting in settings_of(owner)}
    settings: dict[str, Any] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals:
            raise ConfigError(f"--set {one}: expected KEY=VALUE, such as --set decimal=,")
        if name not in known:
            ours = next((s.name for s in known.values() if s.is_called(name)), None)
            near = f"; use {ours}" if ours else did_you_mean(name, known)
            raise ConfigError(f"--set {one}: there is no setting {name!r}{near}")
        value = _parse(text)
        if known[name].expected(value) and not known[name].expected(text):
            value = text
        if expected := known[name].expected(value):
            raise ConfigError(f"--set {one}: {name} must be {expected}")
        settings[name] = tuple(value) if isinstance(value, list) else value
    return settings


def _parse(text: str) -> Any:
    """A value in TOML, or the text itself, in which backslash and t are a tab."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text.replace("\\t", "\t")
