"""Read a study file, and refuse settings that conflict."""

from pathlib import Path
from typing import Any

from ..clustering.preparation import Column
from ..clustering.preparation.column import DERIVED_UNITS, as_text
from ..core import ConfigError
from ..settings import TomlFile, settings_of
from ..tiers import Tier
from .layouts import layout_of
from .settings import (
    SECTIONS,
    ClientSettings,
    ClusteringSettings,
    DataSettings,
    FeatureSettings,
    NameSettings,
    OutputSettings,
    PrivacySettings,
    SamplingSettings,
    Study,
    TitleSettings,
    make_tier,
    privacy_settings,
)


def read_study(path: str | Path, *, files: bool = True) -> Study:
    """Read a study; without `files` it need not list any client's files."""
    file = TomlFile.read(Path(path), ("clients", "features", *SECTIONS))
    study = Study(
        file.path,
        clustering=file.section(ClusteringSettings, "clustering"),
        data=file.section(DataSettings, "data"),
        outputs=file.section(OutputSettings, "outputs"),
        sampling=file.section(SamplingSettings, "sampling"),
        privacy=_privacy(file),
        clients=_clients(file) if files or file.tables.get("clients") else {},
        features=_features(file),
        given=file.given,
        own_data=_own_data(file),
        titles=file.section(TitleSettings, "study"),
        names=file.section(NameSettings, "clusters"),
    )
    layout = layout_of(study)
    for conflict in layout.find_missing_settings(files=files):
        raise file.error(*conflict)
    study = layout.complete_settings()
    _refuse_conflicts(study, file)
    return study


def resolve_tier(study: Study, default: str) -> Tier:
    """The study's tier, or the default; refused if it cannot protect the study."""
    tier = make_tier(study, default)
    layout = layout_of(study)
    for conflict in layout.find_unprotected(tier):
        raise ConfigError(f"{study.path}: {conflict.message}, or set [privacy] tier")
    return layout.adapt_tier(tier)


def _refuse_conflicts(study: Study, file: TomlFile) -> None:
    layout = layout_of(study)
    for conflict in layout.find_conflicts():
        raise file.error(*conflict)
    if study.privacy.tier is None:  # the default depends on where the study runs
        return
    try:
        tier = make_tier(study, study.privacy.tier)
    except ConfigError as problem:
        raise file.error(("privacy", "tier"), str(problem)) from None
    for conflict in layout.find_unprotected(tier):
        raise file.error(*conflict)


def _privacy(file: TomlFile) -> PrivacySettings:
    tier = file.tables.get("privacy", {}).get("tier")
    given = file.values(privacy_settings(str(tier)), "privacy")
    own = {setting.name for setting in settings_of(PrivacySettings)} & set(given)
    return PrivacySettings(**{name: given.pop(name) for name in own}, parameters=given)


def _clients(file: TomlFile) -> dict[str, str]:
    given = file.tables.get("clients")
    if not given:
        raise file.error(
            ("clients",), "[clients] is missing or empty; list each client's name and its file"
        )
    named: dict[str, str] = {}
    for name, path in given.items():
        if not name.strip() or name.startswith(".") or set(name) & set("/\\"):
            raise file.error(
                ("clients", name),
                f"client {name!r}: its name is also a file name; choose one without a slash or "
                "a leading dot",
            )
        if isinstance(path, dict):
            path = file.section(ClientSettings, "clients", name).file
        if not isinstance(path, str) or not path.strip():
            raise file.error(("clients", name), f"client {name!r} must have a file, got {path!r}")
        named[name] = path
    return named


def _own_data(file: TomlFile) -> dict[str, dict[str, Any]]:
    """Settings that clients' own tables give, beside their files."""
    settings = settings_of(ClientSettings)
    tables = {n: t for n, t in file.tables.get("clients", {}).items() if isinstance(t, dict)}
    values = {name: file.values(settings, "clients", name) for name in tables}
    return {name: {k: v for k, v in own.items() if k != "file"} for name, own in values.items()}


def _features(file: TomlFile) -> tuple[Column, ...] | None:
    given: dict[str, Any] | None = file.tables.get("features")
    if given is None:
        return None
    if not given:
        raise file.error(("features",), "[features] is empty; list columns, or leave it out")
    return tuple(_feature(name, table, file) for name, table in given.items())


def _feature(name: str, table: Any, file: TomlFile) -> Column:
    where = ("features", name)
    if not isinstance(table, dict):
        raise file.error(where, f'feature {name!r} must be a table, such as {{ unit = "kg" }}')
    feature = file.section(FeatureSettings, *where)
    categories = tuple(as_text(value) for value in feature.categories)
    try:
        return Column(
            name,
            categories,
            feature.low,
            feature.high,
            log=feature.log,
            unit=feature.unit or DERIVED_UNITS.get(feature.derive or "", ""),
            derive=feature.derive or "",
        )
    except ConfigError as problem:
        raise file.error(where, str(problem)) from None
