"""What an owner approves: a study, known by its hash.

The hash covers everything that decides what a client answers: all settings of the study and the
version of fedclust. Two participants with the same hash take the same steps.
"""

import json
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from .. import __version__
from ..core import Code, ConfigError, Refusal, Summed
from ..core.codec import one_line
from ..core.files import make_folder, write_text
from ..privacy.crypto import digest
from ..study.read import read_study
from ..study.settings import Study, make_algorithm
from ..tiers import Tier

DEFAULT_TIER = "secure"  # of studies across machines
_LONGEST_STUDY = 200_000  # characters of a study file


def open_study(folder: Path, name: str, text: str) -> Study:
    """Write the text of a study into a folder, and read it; client files are not looked for."""
    _check_text(name, text)
    make_folder(folder)
    path = folder / f"{name}.toml"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
    try:
        study = read_study(path, files=False)
    except ConfigError as problem:
        words = one_line(str(problem)).replace(str(path), f"{name}.toml")
        raise Refusal(f"the study file cannot be used: {words}", code=Code.STUDY) from None
    return _without_files(study)


def read_mailed_study(path: Path) -> Study:
    """A study file as clients will read it when the server sends it."""
    study = read_study(path, files=False)
    _check_text(path.stem, path.read_text(encoding="utf-8"))
    return _without_files(study)


def _check_text(name: str, text: str) -> None:
    if len(text) > _LONGEST_STUDY:
        raise Refusal(f"the study file has more than {_LONGEST_STUDY} characters", code=Code.STUDY)
    if not name or not all(c.isalnum() or c in "-_. " for c in name) or name.startswith("."):
        raise Refusal(
            "the name of the study may have letters, digits, spaces, dots, - and _ only, and does "
            "not begin with a dot",
            code=Code.STUDY,
        )


def _without_files(study: Study) -> Study:
    """The study without paths: clients name their files themselves."""
    return replace(study, clients=dict.fromkeys(study.clients, ""), own_data={})


def study_hash(study: Study, version: str = __version__) -> str:
    """The canonical hash of a study: settings and version, without paths and files."""
    parts: dict[str, Any] = {
        "version": version,
        "name": study.path.stem,
        "clients": sorted(study.clients),
        "features": None if study.features is None else [c.as_config() for c in study.features],
        "clustering": asdict(study.clustering),
        "data": asdict(study.data),
        "sampling": asdict(study.sampling),
        "privacy": {**asdict(study.privacy), "tier": study.privacy.tier or DEFAULT_TIER},
        "outputs": asdict(study.outputs),
    }
    return digest(json.dumps(parts, sort_keys=True, default=str).encode()).hex()


class Following(StrEnum):
    """How far clients can check what a study asks of them."""

    STEPS = "steps"  # they compute every request themselves
    SCRIPT = "script"  # over split columns: everything but assignments
    NONE = "none"  # single clients' messages may not be shown to the others


def following_of(study: Study, tier: Tier) -> Following:
    """How clients follow a study: only sums that hide single clients can be relayed."""
    if not tier.sums_only:
        return Following.NONE
    if study.data.split == "columns":
        return Following.SCRIPT
    return Following.STEPS if _sums(study) else Following.NONE


def _sums(study: Study) -> bool:
    return issubclass(make_algorithm(study.clustering, study.n_clusters[0]).up, Summed)
