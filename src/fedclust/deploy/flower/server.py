"""The app that Flower loads at the SuperLink's side."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...channels.flower.server import GridTransport, server_app
from ...core import ConfigError, FedclustError
from ...study.contradictions import find_ignored_settings
from ...study.layouts import layout_of
from ...study.pool import RemotePool
from ...study.read import read_study, resolve_tier
from ..job import StudyRun
from ..paths import outcome_of, place_for, tidy
from .folder import read_run_settings

_log = logging.getLogger(__name__)


def run_over(transport: GridTransport, config: Mapping[str, Any]) -> None:
    """Run the study that the configuration names, and leave its folder on this machine."""
    how = read_run_settings(config)
    study = read_study(how.study, files=False)
    if layout_of(study).keeps_state:
        raise ConfigError(
            f'{study.path}: split = "{study.data.split}" needs clients that keep the shared '
            "records, and over Flower a new process answers every message; run it over NVFlare"
        )
    tier = resolve_tier(study, RemotePool.default_tier)
    for words in find_ignored_settings(study):
        _log.warning("%s", words)
    # Ledgers and keys are in files; what a guard last sent, and noise under masks, are not.
    if tier.needs_memory:
        raise ConfigError(
            f"{study.path}: over Flower a new process answers every message, and tier = "
            f"{tier.name!r} needs clients that remember what they last sent: set [privacy] tier to "
            "secure (without change), dp or none, or run the study over NVFlare"
        )
    folder = Path(how.out) if how.out else study.path.with_name(f"{study.path.stem}-run")
    place = place_for(study, folder, resume=how.resume, force=how.force)
    least = max(how.min_clients, study.sampling.min_clients)
    ready = transport.wait(least, how.wait, how.grace)
    StudyRun(
        study=str(study.path),
        folder=str(place.folder),
        work=str(place.work),
        run=place.run,
        deadline=how.deadline,
        force=place.force,
        resume=place.unfinished.exists(),
    ).run(transport, ready)
    outcome = outcome_of(place)
    if not outcome["done"]:
        hint = "; --run-config 'resume=true' goes on from here" if outcome["again"] else ""
        raise FedclustError(f"{outcome['error']}{hint}")
    tidy(place)


app = server_app(run_over)
