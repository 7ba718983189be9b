"""The extras of fedclust that a run of a study in this process needs."""

from collections.abc import Iterator
from pathlib import Path

from ..client.files import in_batches
from ..client.problems import ALL, Problem
from ..core.extras import EXTRAS, install_command, missing_extras
from ..data.formats import format_of, has_format
from ..tiers import Tier
from .settings import Study


def find_missing_extras(study: Study, tier: Tier) -> list[str]:
    """Extras that the run needs and that are not installed."""
    return missing_extras(extra for extra in _needed(study, tier) if extra in EXTRAS)


def check_extras(study: Study, tier: Tier) -> Iterator[Problem]:
    """A problem for all clients, with the command that solves it."""
    if absent := find_missing_extras(study, tier):
        yield Problem(ALL, "extra-missing", detail=install_command(absent))


def _needed(study: Study, tier: Tier) -> Iterator[str]:
    outputs = study.outputs
    if outputs.report:
        yield "report"
    if outputs.labels != "none":
        yield format_of(Path(f"labels.{outputs.labels}")).extra
    if tier.masks:
        yield "secure"
    if tier.noisy:
        yield "dp"
    for client in study.clients:
        files = [file for file in study.files(client) if has_format(file)]
        yield from (format_of(file).extra for file in files)
        if in_batches(files, study.file_settings(client)):
            yield "study"
