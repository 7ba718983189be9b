"""The model of a study: plain values in a file, and what they say of new rows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..core import ConfigError
from ..data.frames import columns_of
from ..data.values import NA_VALUES
from ..kernels import memberships, nearest
from ..typing import BoolArray, FloatArray, IntArray
from .preparation import Preparation

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Model:
    """Centres, what is done to a row before it is compared with them, and the clusters' numbers."""

    centers: FloatArray  # (C, P) as they were clustered
    ids: tuple[int, ...]  # the clusters' numbers: those of an earlier run, if it was given
    sizes: tuple[int | None, ...]  # None where a count would cost privacy
    preparation: Preparation
    algorithm: str
    fuzzifier: float | None = None  # None: labels, no memberships
    about: Mapping[str, Any] | None = None  # what else the file says: seed, rounds, versions ...
    gaps: tuple[str, ...] = NA_VALUES  # words in text files that stand for a gap

    @property
    def columns(self) -> list[str]:
        """The columns a table must have."""
        return [column.name for column in self.preparation.columns]

    @property
    def centers_in_units(self) -> FloatArray:
        """Centres in the columns' own units."""
        return self.preparation.in_units(self.centers)

    def predict(self, table: Any) -> list[int | None]:
        """The number of each row's cluster; None where a gap leaves the row out."""
        rows, kept = self.rows(table)
        found: list[int | None] = [None] * len(kept)
        for place, c in zip(np.flatnonzero(kept).tolist(), self.nearest(rows), strict=True):
            found[place] = self.ids[c]
        return found

    def predict_proba(self, table: Any) -> FloatArray:
        """Memberships (n, C), in the order of `ids`; NaN where a gap leaves the row out."""
        rows, kept = self.rows(table)
        found = np.full((len(kept), len(self.ids)), np.nan)
        found[kept] = self.memberships(rows)
        return found

    def rows(self, table: Any, who: str = "the table") -> tuple[FloatArray, BoolArray]:
        """Prepared rows, and which of the table's rows they are."""
        return self.preparation.apply(columns_of(table, who), who)

    def nearest(self, rows: FloatArray) -> IntArray:
        """The place among `ids` of each prepared row's cluster."""
        return nearest(rows, self.centers)[0]

    def memberships(self, rows: FloatArray) -> FloatArray:
        """Memberships of prepared rows."""
        if self.fuzzifier is None:
            raise ConfigError(f"{self.algorithm} finds labels, not memberships")
        return memberships(rows, self.centers, self.fuzzifier)

    def as_config(self) -> dict[str, Any]:
        """Plain values, for a file."""
        in_units = self.centers_in_units
        return {
            "format": FORMAT,
            **(self.about or {}),
            "clusters": [
                {
                    "id": id,
                    "size": size,
                    "center": center.tolist(),
                    "center_in_units": units.tolist(),
                }
                for id, size, center, units in zip(
                    self.ids, self.sizes, self.centers, in_units, strict=True
                )
            ],
            "columns": self.preparation.names,
            "fuzzifier": self.fuzzifier,
            "gaps": list(self.gaps),
            "preparation": self.preparation.as_config(),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Inverse of `as_config`."""
        clusters = config["clusters"]
        own = {"format", "clusters", "columns", "fuzzifier", "gaps", "preparation"}
        return cls(
            np.array([c["center"] for c in clusters], dtype=float),
            tuple(int(c["id"]) for c in clusters),
            tuple(c["size"] for c in clusters),
            Preparation.from_config(config["preparation"]),
            config["algorithm"]["algorithm"],
            config["fuzzifier"],
            {name: value for name, value in config.items() if name not in own},
            tuple(config.get("gaps", cls.gaps)),  # older files have none
        )


def load(path: str | Path) -> Model:
    """The model of a run's folder, or of its model.json."""
    file = Path(path)
    if file.is_dir():
        file = file / "model.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{file}: there is no such file; give a run's folder") from None
    except (OSError, ValueError) as problem:
        raise ConfigError(f"{file}: not a readable model ({problem})") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ConfigError(f"{file}: not a model of fedclust, format {FORMAT}")
    if config.get("split") == "columns":
        raise ConfigError(
            f"{file}: nobody holds whole centres of a run over split columns, so it can neither "
            "label new rows nor be exported; each owner's part is beside its own labels"
        )
    try:
        return Model.from_config(config)
    except (KeyError, TypeError, ValueError) as problem:
        raise ConfigError(f"{file}: not a readable model ({problem!r})") from None
