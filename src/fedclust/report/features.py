"""Prepared columns with the names, units and number formats for readers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..clustering.model import ColumnsModel, Model
from ..clustering.preparation import Column
from ..results import ClusterProfile, FeatureProfile
from .amounts import DASH, decimals_for, plain, share
from .folder import RunFiles


@dataclass(frozen=True)
class Feature:
    """A prepared column: how to name it and how to write its values."""

    name: str  # "age", or "sex = f"
    source: str  # the column of the clients' files
    unit: str
    is_share: bool  # one category of a column: its mean is a share
    log: bool
    decimals: int | None
    overall: float | None  # mean of all rows

    def value(self, value: float | None) -> str:
        """Format a value without its unit."""
        if value is None:
            return DASH
        return share(value) if self.is_share else plain(value, self.decimals)

    def in_units(self, value: float | None) -> str:
        """Format a value with its unit."""
        shown = self.value(value)
        return f"{shown} {self.unit}" if self.unit and value is not None else shown

    def spread(self, sd: float | None) -> str:
        """A standard deviation; empty for shares, whose mean determines it."""
        return "" if self.is_share or sd is None else f"± {plain(sd, self.decimals)}"

    @property
    def head(self) -> str:
        """The name with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


def features(run: RunFiles) -> list[Feature]:
    """One feature per prepared column, in order; none for split columns."""
    if not isinstance(run.model, Model):
        return []
    columns = {
        name: column for column in run.model.preparation.columns for name in column.encoded_names
    }
    return [_feature(profile, columns) for profile in run.profile.clusters[0].features]


def _feature(profile: FeatureProfile, columns: Mapping[str, Column]) -> Feature:
    column = columns[profile.name]
    return Feature(
        name=profile.name.replace("=", " = ", 1) if column.categories else profile.name,
        source=column.name,
        unit=profile.unit,
        is_share=bool(column.categories),
        log=column.log,
        decimals=decimals_for(profile.overall_sd, profile.overall_mean),
        overall=profile.overall_mean,
    )


def strongest_by_column(
    cluster: ClusterProfile, features: Sequence[Feature]
) -> list[tuple[Feature, FeatureProfile]]:
    """One feature for each column in which the cluster differs, the largest effect first.

    Of categories that differ equally, such as yes and no, it is the one that is more frequent here.
    """
    found: dict[str, tuple[Feature, FeatureProfile]] = {}
    pairs = [pair for pair in zip(features, cluster.features, strict=True) if pair[1].effect]
    for feature, own in sorted(pairs, key=lambda pair: _order(pair[1])):
        found.setdefault(feature.source, (feature, own))
    return sorted(found.values(), key=lambda pair: -abs(pair[1].effect or 0.0))


def _order(own: FeatureProfile) -> tuple[float, bool]:
    effect = own.effect or 0.0
    return -round(abs(effect), 2), effect < 0


def measure_differences(
    model: Model | ColumnsModel, clusters: Sequence[ClusterProfile]
) -> list[float]:
    """How much clusters differ in each feature: its largest effect, whatever the sign.

    Clusters that noise hides do not count. Without effects it is the range of the centres. Console
    and report rank features by this.
    """
    if not isinstance(model, Model):
        return []
    clusters = [c for c in clusters if c.reliable] or clusters
    effects = [[abs(f.effect or 0.0) for f in c.features] for c in clusters]
    if any(f.effect is not None for c in clusters for f in c.features):
        return [max(column) for column in zip(*effects, strict=True)]
    ranges: list[float] = np.ptp(model.centers[model.known], axis=0).tolist()
    return ranges


def rank_features(model: Model | ColumnsModel, clusters: Sequence[ClusterProfile]) -> list[int]:
    """Indices of the features, those in which clusters differ most first."""
    differences = measure_differences(model, clusters)
    return sorted(range(len(differences)), key=lambda place: -differences[place])
