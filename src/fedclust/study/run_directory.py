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
_LABELS = "fedclust-labels"  # a separate folder, so that a glob of data files does not match labels


class RunDirectory:
    """The folder of a run; it is written under another name until it is complete."""

    def __init__(self, study: Study, folder: Path, *, force: bool, resume: bool) -> None:
        self._study, self.path, self._resume = study, folder, resume
        self._scratch = _unfinished(folder)
        _refuse_overwriting(folder, force=force)
        if resume and not self._scratch.exists():
            raise ConfigError(f"--resume: {folder} has no unfinished run; leave out --resume")

    def journal(self, on_round: OnRound | None) -> Journal:
        """The journal of the unfinished run with `resume`, otherwise an empty one."""
        if not self._resume:
            shutil.rmtree(self._scratch, ignore_errors=True)
        try:
            return Journal(self._scratch / "journal", self._fixed_inputs(), on_round)
        except OSError as problem:
            raise ConfigError(
                f"{self.path}: cannot be written ({problem.strerror}); choose another --out"
            ) from None

    def _fixed_inputs(self) -> str:
        """What must not change before a run is resumed: the study and the clients' files."""
        lines = [self._study.path.read_text(encoding="utf-8")]
        for client in self._study.clients:
            for file in self._study.files(client):
                seen = file.stat()
                lines.append(f"{client} {file.name} {seen.st_size} {seen.st_mtime_ns}")
        return "\n".join(lines)

    def final_path(self, path: Path | str) -> Path | str:
        """Where a file will be when the run is complete."""
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
        """Write the remaining files, and give the folder its final name."""
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


def _refuse_overwriting(folder: Path, *, force: bool) -> None:
    """Refuse a folder that exists; with `force`, replace it if a run wrote everything in it."""
    if not folder.exists():
        return
    if not force:
        raise ConfigError(f"{folder} exists already; choose another --out, or use --force")
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else {folder.name}
    if not {"model.json", "study.toml"} <= present:
        raise ConfigError(
            f"{folder} is not the folder of a run, so --force does not replace it; choose another "
            "--out"
        )
    if foreign := sorted(present - _WRITTEN):
        raise ConfigError(
            f"{folder} contains files that no run has written ({', '.join(foreign)}); move them, "
            "or choose another --out"
        )


def label_files(study: Study, folder: Path) -> dict[str, Path]:
    """The file for each client's labels: beside its data, or in the folder of the run."""
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
