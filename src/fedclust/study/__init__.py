"""A study: what is asked of whose files, written down in one TOML file."""

from ..client.files import Problem
from .preflight import Examination, examine
from .read import read_study
from .settings import Study, json_schema

__all__ = ["Examination", "Problem", "Study", "examine", "json_schema", "read_study"]
