"""The prepared columns as people know them: names, units, shares, and how many digits matter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .amounts import decimals_for, plain, share
from .folder import RunFiles

NOT_TOLD = "\u2013"


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
        """A value without its unit."""
        if value is None:
            return NOT_TOLD
        return share(value) if self.is_share else plain(value, self.decimals)

    def in_units(self, value: float | None) -> str:
        """A value with its unit."""
        shown = self.value(value)
        return f"{shown} {self.unit}" if self.unit and value is not None else shown

    def spread(self, sd: float | None) -> str:
        """A standard deviation; that of a share says nothing new."""
        return "" if self.is_share or sd is None else f"± {plain(sd, self.decimals)}"

    @property
    def head(self) -> str:
        """The name with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


def features(run: RunFiles) -> list[Feature]:
    """One for each prepared column, in order."""
    columns = {}
    for column in run.model["preparation"]["columns"]:
        for category in column["categories"]:
            columns[f"{column['name']}={category}"] = (f"{column['name']} = {category}", column)
        if not column["categories"]:
            columns[column["name"]] = (column["name"], column)
    return [_feature(told, columns) for told in run.profile["clusters"][0]["features"]]


def _feature(told: Mapping[str, Any], columns: Mapping[str, Any]) -> Feature:
    nothing = {"name": told["name"], "categories": [], "log": False}
    name, column = columns.get(told["name"], (told["name"], nothing))
    return Feature(
        name=name,
        source=column["name"],
        unit=told["unit"] or "",
        is_share=bool(column["categories"]),
        log=column["log"],
        decimals=decimals_for(told["overall_sd"], told["overall_mean"]),
        overall=told["overall_mean"],
    )
