"""The model of a study: plain values in a file, and labels for new rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..core import ConfigError, DataError
from ..data.frames import columns_of
from ..data.settings import ReadOptions
from ..kernels import Density, memberships, most_probable, nearest, posteriors
from ..results import RunDescription, build, parse_json, read_text, to_json
from ..typing import BoolArray, FloatArray, IntArray
from .preparation import Preparation

if TYPE_CHECKING:  # most models have none
    from .summary import DataSummary

FORMAT = 1  # of model.json
SUMMARY = "summary.json"  # beside it
_SHOWN = 6  # names in a line of a repr


@dataclass(frozen=True)
class _SizedCluster:
    """A cluster in the file of a run over split columns."""

    id: int
    size: int


@dataclass(frozen=True)
class _CenteredCluster:
    """A cluster in the file of a run over split rows."""

    id: int
    size: int | None
    center: tuple[float, ...] | None  # None: withheld
    center_in_units: tuple[float, ...] | None


@dataclass(frozen=True, eq=False)
class _ModelPart:
    """Content of model.json besides the description of the run, for split rows."""

    algorithm: str
    clusters: tuple[_CenteredCluster, ...]
    columns: tuple[str, ...]
    fuzzifier: float | None
    preparation: Preparation
    density: tuple[tuple[float, ...], ...] | None = None
    reading: ReadOptions = ReadOptions()
    id_column: str | None = None


@dataclass(frozen=True, eq=False)
class _ColumnsModelPart:
    """The same for split columns, where no party has all centres."""

    split: str
    algorithm: str
    clusters: tuple[_SizedCluster, ...]
    owners: Mapping[str, int]
    n_records: int


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """Centres, the preparation of rows, and the numbers of the clusters."""

    centers: FloatArray  # (C, P) in prepared units; NaN where a centre is withheld
    ids: tuple[int, ...]  # numbers of the clusters, which may come from an earlier run
    sizes: tuple[int | None, ...]  # of all rows; None: clients or the tier withhold it
    preparation: Preparation
    algorithm: str
    fuzzifier: float | None = None  # None: labels only
    about: RunDescription | None = None  # None: built from parts, not by a run
    reading: ReadOptions = ReadOptions()  # how the study's files were read
    id_column: str | None = None  # names the rows of the study's files
    # (C, 1 + 3P) of a mixture (`fedclust.kernels.Density`); None: rows go to the nearest centre
    density: FloatArray | None = None
    summary: "DataSummary | None" = None  # of all rows, in summary.json beside the model

    def __repr__(self) -> str:
        heading = _describe(type(self), self.algorithm, len(self.ids), self.about)
        sizes = ["unknown" if size is None else f"{size:,}" for size in self.sizes]
        clusters = [f"{id} ({size} rows)" for id, size in zip(self.ids, sizes, strict=True)]
        return f"{heading}\n  clusters: {_list(clusters)}\n  columns: {_list(self.columns)}"

    @property
    def columns(self) -> list[str]:
        """Columns that a table must have."""
        return [column.name for column in self.preparation.columns]

    @property
    def known(self) -> IntArray:
        """Positions of the clusters whose centres are not withheld: new rows go to these."""
        places: IntArray = np.flatnonzero(~np.isnan(self.centers).any(axis=1))
        if len(places) == 0:
            raise ConfigError(
                "all centres of this model are withheld, because every cluster has few rows; "
                "choose fewer clusters"
            )
        return places

    @property
    def centers_in_units(self) -> FloatArray:
        """Centres in the columns' own units."""
        return self.preparation.in_units(self.centers)

    @property
    def known_summary(self) -> "DataSummary":
        """The summary, or a refusal that says which runs have one."""
        if self.summary is None:
            raise ConfigError(
                'this run has no summary; a study with n_clusters = "auto" keeps one if its tier '
                "is guarded, secure, dp or secure+dp"
            )
        return self.summary

    def at(self, k: int, *, fuzzifier: float | None = None) -> Self:
        """The model with another number of clusters, from the summary; no client is queried.

        Its centres are those of the summary, not of all rows: close to them, and not lossless.
        """
        from .summary import group_by_centers  # which most models do not need

        groups = group_by_centers(self.known_summary, k, fuzzifier)
        key = "llf-cm" if fuzzifier is None else "llf-fcm"
        return replace(
            self,
            centers=groups.centers,
            ids=tuple(range(k)),
            sizes=groups.sizes,
            algorithm=key,
            fuzzifier=fuzzifier,
            about=None,
        )

    def predict(self, table: Any) -> Any:
        """Cluster number of each row; None if the row was dropped for a missing value.

        Of a dict with the table of each client, a dict of these.
        """
        if _are_tables(table):
            return {client: self.predict(one) for client, one in table.items()}
        rows, kept = self.rows(table)
        labels: list[int | None] = [None] * len(kept)
        for row, c in zip(np.flatnonzero(kept).tolist(), self.nearest(rows), strict=True):
            labels[row] = self.ids[c]
        return labels

    def predict_proba(self, table: Any) -> Any:
        """Memberships (n, C), in the order of `ids`; NaN for rows dropped for a missing value.

        Of a dict with the table of each client, a dict of these.
        """
        if _are_tables(table):
            return {client: self.predict_proba(one) for client, one in table.items()}
        rows, kept = self.rows(table)
        U = np.full((len(kept), len(self.ids)), np.nan)
        U[kept] = self.memberships(rows)
        return U

    def rows(self, table: Any, source: str = "the table") -> tuple[FloatArray, BoolArray]:
        """Prepared rows, and a mask of the table's rows that were kept."""
        return self.preparation.apply(columns_of(table, source), source)

    def nearest(self, rows: FloatArray) -> IntArray:
        """Position in `ids` of the cluster of each prepared row."""
        known = self.known
        if self.density is not None:
            places = most_probable(rows, Density.unpack(self.density[known]))
        else:
            places = nearest(rows, np.ascontiguousarray(self.centers[known]))[0]
        labels: IntArray = known[places]
        return labels

    @property
    def soft(self) -> bool:
        """Whether rows have memberships, or probabilities, besides labels."""
        return self.fuzzifier is not None or self.density is not None

    def memberships(self, rows: FloatArray) -> FloatArray:
        """Memberships of prepared rows."""
        known, U = self.known, np.zeros((len(rows), len(self.ids)))
        if self.density is not None:
            U[:, known] = posteriors(rows, Density.unpack(self.density[known]))
            return U
        if self.fuzzifier is None:
            raise ConfigError(f"{self.algorithm} gives labels, not memberships")
        U[:, known] = memberships(rows, np.ascontiguousarray(self.centers[known]), self.fuzzifier)
        return U

    def as_config(self) -> dict[str, Any]:
        """Plain values, for a file."""
        withheld: list[bool] = [bool(np.isnan(center).any()) for center in self.centers]
        centers, in_units = (
            [None if w else tuple(row) for row, w in zip(values.tolist(), withheld, strict=True)]
            for values in (self.centers, self.centers_in_units)
        )
        clusters = tuple(map(_CenteredCluster, self.ids, self.sizes, centers, in_units))
        names = tuple(self.preparation.names)
        part = _ModelPart(
            algorithm=self.algorithm,
            clusters=clusters,
            columns=names,
            fuzzifier=self.fuzzifier,
            preparation=self.preparation,
            density=None if self.density is None else tuple(map(tuple, self.density.tolist())),
            reading=self.reading,
            id_column=self.id_column,
        )
        return _as_config(self.about, part)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: str = "model") -> Self:
        """Inverse of `as_config`; `where` names the file in errors."""
        part = build(_ModelPart, config, where)
        _check_lists(part, where)
        nothing = (np.nan,) * len(part.columns)
        return cls(
            np.array([cluster.center or nothing for cluster in part.clusters], dtype=float),
            tuple(cluster.id for cluster in part.clusters),
            tuple(cluster.size for cluster in part.clusters),
            part.preparation,
            part.algorithm,
            part.fuzzifier,
            build(RunDescription, config, where) if "fedclust" in config else None,
            part.reading,
            part.id_column,
            None if part.density is None else np.array(part.density, dtype=float),
        )


def _are_tables(table: Any) -> bool:
    """Whether it is a dict of tables, not of columns."""
    values = table.values() if isinstance(table, Mapping) else ()
    return bool(values) and all(np.ndim(one) == 2 for one in values)


@dataclass(frozen=True, eq=False, repr=False)
class ColumnsModel:
    """The model of a run over split columns: sizes only, as no party has all centres."""

    algorithm: str
    sizes: tuple[int, ...]  # of clusters 0, 1, ...
    owners: Mapping[str, int]  # number of columns of each
    n_records: int  # that all owners have
    about: RunDescription

    def __repr__(self) -> str:
        heading = _describe(type(self), self.algorithm, len(self.ids), self.about)
        clusters = [f"{id} ({n:,} records)" for id, n in zip(self.ids, self.sizes, strict=True)]
        owners = [f"{owner} ({n} columns)" for owner, n in self.owners.items()]
        return f"{heading}\n  clusters: {_list(clusters)}\n  owners: {_list(owners)}"

    @property
    def ids(self) -> tuple[int, ...]:
        """Numbers of the clusters."""
        return tuple(range(len(self.sizes)))

    def as_config(self) -> dict[str, Any]:
        """Plain values, for a file."""
        clusters = tuple(map(_SizedCluster, self.ids, self.sizes))
        part = _ColumnsModelPart("columns", self.algorithm, clusters, self.owners, self.n_records)
        return _as_config(self.about, part)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: str = "model") -> Self:
        """Inverse of `as_config`; `where` names the file in errors."""
        part = build(_ColumnsModelPart, config, where)
        sizes = tuple(cluster.size for cluster in part.clusters)
        about = build(RunDescription, config, where)
        return cls(part.algorithm, sizes, part.owners, part.n_records, about)


def _describe(kind: type, algorithm: str, n_clusters: int, about: RunDescription | None) -> str:
    """The first line of a model's repr."""
    run = f", study {about.study!r}, run {about.run_id}" if about else ""
    return f"<{kind.__name__}: {n_clusters} clusters by {algorithm}{run}>"


def _list(names: Sequence[str]) -> str:
    """The first names, in one line."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _as_config(about: RunDescription | None, part: Any) -> dict[str, Any]:
    return {"format": FORMAT, **(to_json(about) if about else {}), **to_json(part)}


def _check_lists(part: _ModelPart, where: str) -> None:
    """Refuse lists that do not have one finite value per prepared column."""
    ready, names = part.preparation, part.preparation.names
    if list(part.columns) != names:
        raise DataError(f"{where}: columns: expected {', '.join(names)}, as in the preparation")
    fill = np.zeros(len(names)) if ready.fill is None else np.nan_to_num(ready.fill)
    lists = {"preparation.offset": ready.offset, "preparation.scale": ready.scale}
    lists |= {"preparation.fill": fill}
    lists |= {
        f"clusters[{c}].center": np.array(cluster.center)
        for c, cluster in enumerate(part.clusters)
        if cluster.center is not None
    }
    width, density = 1 + 3 * len(names), part.density
    if density is not None and [len(row) for row in density] != [width] * len(part.clusters):
        raise DataError(f"{where}: density: expected {width} numbers for each cluster")
    for name, values in lists.items():
        if len(values) != len(names) or not np.isfinite(values).all():
            raise DataError(
                f"{where}: {name}: expected one finite number per column ({len(names)})"
            )


def read_model(file: Path) -> Model | ColumnsModel:
    """Read a model.json."""
    config = parse_json(read_text(file), str(file))
    version = config.get("format") if isinstance(config, Mapping) else None
    if version != FORMAT:
        raise DataError(
            f"{file}: unknown format {version!r}; this fedclust reads format {FORMAT}, so use the "
            "version that made the run"
        )
    kind = ColumnsModel if config.get("split") == "columns" else Model
    return kind.from_config(config, str(file))


def load(path: str | Path) -> Model:
    """Load the model from a run folder or its model.json."""
    file = Path(path)
    model = read_model(file / "model.json" if file.is_dir() else file)
    if isinstance(model, ColumnsModel):
        raise ConfigError(
            f"{file}: no party has all centres of a run over split columns, so new rows cannot be "
            "labelled; each owner has its part beside its labels"
        )
    summary = read_summary(file if file.is_dir() else file.parent)
    return model if summary is None else replace(model, summary=summary)


def read_summary(folder: Path) -> "DataSummary | None":
    """Read the summary in a run's folder, if there is one."""
    file = folder / SUMMARY
    if not file.exists():
        return None
    from .summary import DataSummary

    return DataSummary.from_config(parse_json(read_text(file), str(file)), str(file))
