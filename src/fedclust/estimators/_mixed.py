"""Base of the estimators over numbers and categories: a column of 0 and 1 for each category."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..core import ConfigError, Schema
from ..tiers import Tier
from ..typing import FloatArray
from ._categories import Categories, code_words
from ._federated import Federated
from ._rows import Rows


class MixedColumns(Federated):
    """Reads, encodes and names columns of numbers and of categories."""

    categories: Any

    def _listed(self) -> dict[Any, Categories]:
        """The categories of each column of them, by the name or position that the user gave."""
        given = {} if self.categories is None else self.categories
        if not isinstance(given, Mapping):
            raise ConfigError("categories must be a dict of columns and the categories of each")
        return {column: Categories.of(column, listed) for column, listed in given.items()}

    def _coded(self) -> dict[int, Categories]:
        """The categories of each column of them, by its position."""
        names = getattr(self, "feature_names_in_", np.empty(0)).tolist()
        found: dict[int, Categories] = {}
        for column, categories in self._listed().items():
            place = names.index(column) if column in names else column
            if isinstance(place, bool) or not isinstance(place, int | np.integer):
                raise ConfigError(f"categories: X has no column {column!r}")
            if not 0 <= place < self.n_features_in_:
                raise ConfigError(
                    f"categories: column {column!r}, but X has {self.n_features_in_} columns"
                )
            found[int(place)] = categories
        return found

    def _read(self, X: Any) -> Any:
        words = {column: listed for column, listed in self._listed().items() if listed.words}
        for column in words:
            if not isinstance(column, str):
                raise ConfigError(
                    f"categories: column {column!r} has words; give the column by its name"
                )
        return code_words(X, words) if words else X

    def _encode(self, rows: FloatArray) -> FloatArray:
        """Rows with a column of 0 and 1 for each category."""
        coded, names = self._coded(), self._names()
        parts = [
            coded[place].encode(repr(names[place]), rows[:, place])
            if place in coded
            else rows[:, [place]]
            for place in range(rows.shape[1])
        ]
        return np.ascontiguousarray(np.hstack(parts))

    def _clip(self, rows: FloatArray) -> FloatArray:
        coded, clipped, first = self._coded(), rows.copy(), 0
        for place in range(rows.shape[1]):
            if place not in coded:  # codes are not clipped
                low, high = (bound[first] for bound in self.bounds_)
                clipped[:, place] = np.clip(rows[:, place], low, high)
            first += len(coded[place].codes) if place in coded else 1
        return clipped

    def _encode_all(self, rows: Rows) -> Rows:
        clients = {
            name: replace(data, X=self._encode(data.X)) for name, data in rows.by_client.items()
        }
        return replace(rows, by_client=clients, tables=[self._encode(X) for X in rows.tables])

    @property
    def _bounds(self) -> Any:
        """The bounds that the user gave; a table of categories alone needs none."""
        all_coded = len(self._coded()) == self.n_features_in_
        return (0.0, 1.0) if self.bounds is None and all_coded else self.bounds

    def _schema(self, tier: Tier) -> Schema:
        schema, coded = super()._schema(tier), self._coded()
        blocks = np.array(
            [
                place + 1 if place in coded else 0
                for place in range(schema.n_features)
                for _ in range(len(coded[place].codes) if place in coded else 1)
            ]
        )
        low, high = schema.low, schema.high
        if low is not None and high is not None:
            widths = [
                len(coded[place].codes) if place in coded else 1
                for place in range(schema.n_features)
            ]
            low = np.where(blocks == 0, np.repeat(low, widths), 0.0)
            high = np.where(blocks == 0, np.repeat(high, widths), 1.0)
        return replace(schema, n_features=len(blocks), low=low, high=high, blocks=blocks)

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if names is None else names.tolist()

    def _encoded_names(self) -> list[str]:
        coded = self._coded()
        return [
            name if category is None else f"{name}={category}"
            for place, name in enumerate(self._names())
            for category in (coded[place].names if place in coded else [None])
        ]
