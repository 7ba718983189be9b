"""A run's folder: model, profile, history, the study as it was, and the report."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ..clustering.choose_k import Choice
from ..clustering.model import ColumnsModel, Model
from ..core import ConfigError, RoundSummary
from ..core.files import write_text
from ..results import RoundRecord, RunProfile, write_lines, write_record
from .journal import Journal, OnRound
from .settings import Study

_WRITTEN = {
    "choice.json",
    "history.jsonl",
    "incidents.jsonl",
    "labels",
    "model.json",
    "profile.json",
    "report.html",
    "study.toml",
}
_LABELS = "fedclust-labels"  # a folder of its own: a glob of the data must not find them


class Folder:
    """Where a run is written: beside its place first, so that whoever looks sees it whole."""

    def __init__(self, study: Study, folder: Path, *, force: bool, resume: bool) -> None:
        self._study, self.path, self._resume = study, folder, resume
        self._scratch = _unfinished(folder)
        _writable(folder, force=force)
        if resume and not self._scratch.exists():
            raise ConfigError(f"--resume: there is no unfinished run of {folder}")

    def journal(self, on_round: OnRound | None) -> Journal:
        """What an unfinished run left, or a new beginning."""
        if not self._resume:
            shutil.rmtree(self._scratch, ignore_errors=True)
        try:
            return Journal(self._scratch / "journal", self._agreement(), on_round)
        except OSError as problem:
            raise ConfigError(f"{self.path} cannot be written ({problem.strerror})") from None

    def _agreement(self) -> str:
        """What must not have changed for a run to go on: the study, and the clients' files."""
        lines = [self._study.path.read_text(encoding="utf-8")]
        for client in self._study.clients:
            for file in self._study.files(client):
                seen = file.stat()
                lines.append(f"{client} {file.name} {seen.st_size} {seen.st_mtime_ns}")
        return "\n".join(lines)

    def final(self, path: Path | str) -> Path | str:
        """Where a file will be once the folder is in its place."""
        if isinstance(path, Path) and path.is_relative_to(self._scratch):
            return self.path / path.relative_to(self._scratch)
        return path

    def finish(
        self,
        model: Model | ColumnsModel,
        history: Sequence[RoundSummary],
        profile: RunProfile,
        choice: Choice | None,
    ) -> None:
        """Write the remaining files, and put the folder in its place."""
        scratch = self._scratch
        write_text(scratch / "study.toml", self._study.path.read_text(encoding="utf-8"))
        write_record(scratch / "model.json", model.as_config())
        write_record(scratch / "profile.json", profile)
        write_lines(scratch / "history.jsonl", [RoundRecord(**asdict(line)) for line in history])
        if choice:
            write_record(scratch / "choice.json", choice.summarize())
        if self._study.outputs.report:
            from ..report import write_report

            write_report(scratch)
        shutil.rmtree(scratch / "journal", ignore_errors=True)
        old = self._scratch.with_suffix(".old")
        shutil.rmtree(old, ignore_errors=True)
        if self.path.exists():
            self.path.rename(old)
        scratch.rename(self.path)
        shutil.rmtree(old, ignore_errors=True)


def _writable(folder: Path, *, force: bool) -> None:
    """Refuse to touch what is there, unless it is asked for and an earlier run left it."""
    if not folder.exists():
        return
    if not force:
        raise ConfigError(f"{folder} is there already; give another --out, or --force")
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else {folder.name}
    if not {"model.json", "study.toml"} <= there:
        raise ConfigError(f"{folder} is not the folder of a run, so --force does not replace it")
    if foreign := sorted(there - _WRITTEN):
        raise ConfigError(
            f"{folder} holds what no run has written ({', '.join(foreign)}): move it away, or give "
            "another --out"
        )


def label_files(study: Study, folder: Path) -> dict[str, Path]:
    """Where each client's labels go: to its data, unless the study says otherwise."""
    kind, where = study.outputs.labels, study.outputs.labels_in
    if kind == "none":
        return {}
    if where == "run":
        return {c: _unfinished(folder) / "labels" / f"{c}.{kind}" for c in study.clients}
    return {
        client: files[0].parent / _LABELS / folder.absolute().name / f"{client}.{kind}"
        for client in study.clients
        if (files := study.files(client))
    }


def _unfinished(folder: Path) -> Path:
    whole = folder.absolute()  # "." has no name
    return whole.with_name(f".{whole.name}.unfinished")
