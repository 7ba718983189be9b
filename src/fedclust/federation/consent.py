"""What a client allows: every request is held against client.toml before any row is touched."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..algorithms import ALGORITHMS
from ..algorithms.bounded_c_means import BoundedCMeans
from ..algorithms.c_means import CMeans
from ..algorithms.fuzzy_c_means import FuzzyCMeans
from ..algorithms.robust_c_means import RobustCMeans
from ..core import AnyAlgorithm, ConfigError, Plan, Transform
from ..privacy import PRIVACY, MinSamples, transforms_for
from .client_file import ClientFile

# What algorithms call the number of records that must stand behind a part of their message.
_COUNTS = ("min_count", "neighbours")


_OTHER_C_MEANS: tuple[Any, ...] = (BoundedCMeans, RobustCMeans)  # with noise; with medians


class Refused(ConfigError):
    """A request that the client's own file does not allow."""


def allow_caller(file: ClientFile, study: str, author: str) -> None:
    """Refuse studies and authors that are not listed."""
    for what, name in (("studies", study), ("authors", author)):
        allowed = file.consent[what]
        if allowed and name not in allowed:
            one = {"studies": "study", "authors": "author"}[what]
            raise Refused(f"client.toml does not list {one} {name!r} under {what}")


def allow_columns(file: ClientFile, names: Iterable[str]) -> None:
    """Refuse columns that are not listed, and the id column always."""
    allowed, id = file.consent["columns"], file.data["id"]
    for name in names:
        if name == id or (allowed and name not in allowed):
            raise Refused(f"client.toml does not allow the column {name!r}")


def allow_plan(file: ClientFile, plan: Plan, n_features: int, answered: int) -> None:
    """Refuse algorithms, settings and tiers beyond what is allowed."""
    algorithm, consent = plan.algorithm, file.consent
    key = algorithm.key
    if algorithm.partition != "horizontal":
        raise Refused(f"{key} is not answered over a network: its messages are not of rows")
    _allow_algorithm(file, algorithm)
    if answered >= consent["max_rounds"]:
        raise Refused(f"client.toml allows max_rounds = {consent['max_rounds']}")
    _allow_settings(file, algorithm)
    if consent["privacy"] not in PRIVACY:
        return  # the gate sees to it: what such tiers add depends on the study's bounds
    for wanted in transforms_for(algorithm, n_features, consent["privacy"]):
        covered = any(_covers(given, wanted) for given in plan.transforms)
        if not covered and not _implies(algorithm, wanted):
            raise Refused(
                f"{key} came without {wanted}, which client.toml demands by privacy = "
                f'"{consent["privacy"]}"; set [privacy] tier in the study'
            )


def _allow_algorithm(file: ClientFile, algorithm: AnyAlgorithm) -> None:
    """Of what clusters only the listed; scales, starts and scores go with them."""
    listed = tuple(ALGORITHMS[key] for key in file.consent["algorithms"])
    if set(listed) & {CMeans, FuzzyCMeans}:
        listed += _OTHER_C_MEANS
    if not listed or isinstance(algorithm, listed):
        return
    if isinstance(algorithm, (*ALGORITHMS.values(), *_OTHER_C_MEANS)):
        raise Refused(f"client.toml does not list {algorithm.key!r} under algorithms")


def _allow_settings(file: ClientFile, algorithm: AnyAlgorithm) -> None:
    settings, consent = vars(algorithm), file.consent
    _at_most(settings, "n_clusters", consent["max_clusters"], "max_clusters")
    for name in ("n_bins", "cells"):
        _at_most(settings, name, consent["max_bins"], "max_bins")
    if not algorithm.lossless:
        for name in _COUNTS:
            found = settings.get(name)
            if found is not None and found < consent["min_count"]:
                raise Refused(
                    f"{algorithm.key}: {name} = {found}, client.toml allows min_count = "
                    f"{consent['min_count']} or more"
                )


def _at_most(settings: Mapping[str, Any], name: str, most: int, key: str) -> None:
    if (settings.get(name) or 0) > most:  # None: as many as its default is
        raise Refused(f"{name} = {settings[name]}, client.toml allows {key} = {most}")


def _implies(algorithm: AnyAlgorithm, wanted: Transform) -> bool:
    """Whether an algorithm withholds by itself what a transform would: few records, no part."""
    own = vars(algorithm).get("min_count") or 0
    return isinstance(wanted, MinSamples) and own >= wanted.samples


def _covers(given: Transform, wanted: Transform) -> bool:
    """Whether a transform is the wanted one, or one of its kind with larger numbers."""
    return type(given) is type(wanted) and all(
        vars(given)[name] >= value for name, value in vars(wanted).items()
    )
