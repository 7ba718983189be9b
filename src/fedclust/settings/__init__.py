"""Typed settings: frozen dataclasses, read from TOML files and described by a JSON schema."""

from .keys import Choices, Key, Setting, settings_of
from .schema import table_schema
from .toml import TomlFile

__all__ = ["Choices", "Key", "Setting", "TomlFile", "settings_of", "table_schema"]
