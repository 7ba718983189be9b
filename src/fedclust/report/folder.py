"""Read the files of a run's folder."""

from dataclasses import dataclass
from pathlib import Path

from ..clustering.model import ColumnsModel, Model, read_model, read_summary
from ..clustering.summary import DataSummary
from ..core import ConfigError, DataError
from ..results import (
    ChoiceRecord,
    ClusterMap,
    RoundRecord,
    RunDescription,
    RunProfile,
    read_lines,
    read_record,
    read_text,
)


@dataclass(frozen=True, eq=False)
class RunFiles:
    """The files of a run."""

    model: Model | ColumnsModel
    about: RunDescription
    history: tuple[RoundRecord, ...]  # a line for each round
    profile: RunProfile
    choice: ChoiceRecord | None  # None: the number of clusters was given
    study: str  # the study file as it was used
    summary: DataSummary | None = None  # of all rows; None: the run has none

    @property
    def columns_split(self) -> bool:
        """Whether clients held different columns of the same records."""
        return isinstance(self.model, ColumnsModel)


def read_run(folder: Path) -> RunFiles:
    """Read and check the files of a run's folder."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder; give the folder of a run")
    model = read_model(folder / "model.json")
    if model.about is None:
        raise DataError(f"{folder / 'model.json'}: fedclust: missing")
    choice = folder / "choice.json"
    run = RunFiles(
        model,
        model.about,
        read_lines(folder / "history.jsonl", RoundRecord),
        read_record(folder / "profile.json", RunProfile),
        read_record(choice, ChoiceRecord) if choice.exists() else None,
        read_text(folder / "study.toml"),
        read_summary(folder),
    )
    _check_agreement(run, folder)
    return run


def _check_agreement(run: RunFiles, folder: Path) -> None:
    """Raise if the files are of different runs."""
    columns = run.model.preparation.names if isinstance(run.model, Model) else []
    clusters = run.profile.clusters
    if not clusters or not (columns or run.columns_split):
        raise DataError(f"{folder}: the run has no clusters or no columns, so nothing to report")
    if tuple(cluster.id for cluster in clusters) != run.model.ids:
        raise DataError(f"{folder}: model.json and profile.json list different clusters")
    for cluster in clusters:
        if [feature.name for feature in cluster.features] != columns:
            raise DataError(
                f"{folder / 'profile.json'}: the columns of cluster {cluster.id} differ from those "
                "in model.json"
            )
    if run.profile.map is not None:
        _check_grid(run.profile.map, folder / "profile.json")


def _check_grid(drawn: ClusterMap, file: Path) -> None:
    wide, high, counts = len(drawn.grid.x) - 1, len(drawn.grid.y) - 1, drawn.grid.counts
    if counts and (len(counts) != high or any(len(row) != wide for row in counts)):
        raise DataError(f"{file}: map.grid.counts: expected {high} rows (y) of {wide} counts (x)")
