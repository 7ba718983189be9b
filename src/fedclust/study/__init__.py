"""A study: what is asked of whose files, written down in one TOML file."""

from ..client.files import Problem
from .file import Study, read_study
from .preflight import Examination, examine
from .schema import json_schema

__all__ = ["Examination", "Problem", "Study", "examine", "json_schema", "read_study"]
