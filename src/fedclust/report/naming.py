"""Titles and names: those of the study file, or names of clusters made from what defines them."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..results import ClusterProfile
from .amounts import several
from .features import Feature, strongest_by_column
from .folder import RunFiles

_CLEAR = 0.5  # standard deviations from which a feature is part of a name
_STRONG = 0.5  # share of the largest effect that a second feature needs


@dataclass(frozen=True)
class StudyWords:
    """What a study file says to the readers of the report."""

    title: str
    description: str
    names: tuple[str, ...]  # of clusters, in the order of their numbers
    tables: tuple[str, ...]  # which the file has


def study_words(run: RunFiles) -> StudyWords:
    """Title, description and names in the run's study file, where they can be edited later."""
    try:
        tables: dict[str, Any] = tomllib.loads(run.study)
    except tomllib.TOMLDecodeError:
        tables = {}
    study, clusters = (_table(tables, name) for name in ("study", "clusters"))
    names = clusters.get("names", [])
    return StudyWords(
        str(study.get("title") or _plain_title(run)),
        str(study.get("description", "")),
        tuple(map(str, names)) if isinstance(names, list) else (),
        tuple(tables),
    )


def _plain_title(run: RunFiles) -> str:
    """The name of the study, if it says more than that it is one."""
    if run.about.study != "study":
        return run.about.study
    clusters, clients = len(run.profile.clusters), len(run.profile.clients)
    return f"{several(clusters, 'cluster')} of {several(clients, 'client')}"


def _table(tables: dict[str, Any], name: str) -> dict[str, Any]:
    found = tables.get(name, {})
    return found if isinstance(found, dict) else {}


def cluster_names(run: RunFiles, features: Sequence[Feature]) -> dict[int, str]:
    """A name for each cluster whose number the study file names, or that a feature defines."""
    given = study_words(run).names
    found = {}
    for place, cluster in enumerate(run.profile.clusters):
        name = given[place] if place < len(given) else _name(cluster, features)
        if name:
            found[cluster.id] = name
    return found


def _name(cluster: ClusterProfile, features: Sequence[Feature]) -> str:
    """The one or two features by which the cluster differs most from all rows."""
    if not cluster.reliable:
        return ""
    if all(own.effect is None for own in cluster.features):
        return ""
    strongest = [
        (own.effect or 0.0, feature, own.mean)
        for feature, own in strongest_by_column(cluster, features)
    ]
    least = max([_CLEAR, *(_STRONG * abs(effect) for effect, _, _ in strongest)])
    clear = [one for one in strongest if abs(one[0]) >= least][:2]
    words = ", ".join(_words(*one) for one in clear)
    return words[:1].upper() + words[1:] or "Near the average"


def _words(effect: float, feature: Feature, mean: float | None) -> str:
    if not feature.is_share:
        return f"{'high' if effect > 0 else 'low'} {feature.name}"
    if effect > 0:
        return f"{'mostly' if (mean or 0.0) >= 0.5 else 'more'} {feature.name}"
    return f"{'hardly any' if (mean or 0.0) < 0.1 else 'less'} {feature.name}"
