"""A study: what is computed over whose files, written down in one TOML file."""

from ..client.problems import Problem
from .layouts import Survey
from .read import read_study
from .run import Outcome, run_study, survey_study
from .settings import Study, json_schema

__all__ = [
    "Outcome",
    "Problem",
    "Study",
    "Survey",
    "json_schema",
    "read_study",
    "run_study",
    "survey_study",
]
