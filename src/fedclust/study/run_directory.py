"""A run's folder: model, profile, history, the study as it was, and the report."""

import re
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ..clustering.model import SUMMARY, ColumnsModel, Model
from ..clustering.summary import DataSummary
from ..core import ConfigError, FedclustError, RoundSummary, WriteError
from ..core.files import explain, write_text
from ..progress import PROGRESS, unfinished_folder
from ..results import ChoiceRecord, RoundRecord, RunProfile, read_record, write_lines, write_record
from .inputs import Inputs, read_inputs
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
    SUMMARY,
}
_LABELS = "fedclust-labels"  # a separate folder, so that a glob of data files does not match labels
_RUN_ID, _INPUTS, _JOURNAL = "run-id", "inputs.json", "journal"  # in the unfinished folder


class RunDirectory:
    """The folder of a run; it is written under another name until it is complete."""

    def __init__(
        self,
        study: Study,
        folder: Path,
        *,
        force: bool,
        resume: bool,
        run_id: str | None = None,
    ) -> None:
        self._study, self.path, self._resume = study, folder, resume
        self._scratch = unfinished_folder(folder)
        if resume and not self._scratch.exists():
            raise ConfigError(explain_nothing_to_resume(folder))
        if not (force or resume):
            self._refuse_discarding()
        _refuse_overwriting(folder, force=force or resume)
        saved = self._saved_run_id() if resume else ""
        self.run_id = run_id or saved or secrets.token_hex(4)

    @property
    def progress(self) -> Path:
        """Where a run in this process writes what it does."""
        return self._scratch / PROGRESS

    def journal(self, on_round: OnRound | None, *, saves: bool = True) -> Journal:
        """The journal of the unfinished run with `resume`, otherwise an empty one.

        Without `saves` it keeps nothing, because the run resumes from a transcript.
        """
        inputs = self._check_inputs() if self._resume else read_inputs(self._study)
        if not self._resume:
            self._discard_unfinished()
        try:
            self._scratch.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise WriteError(
                problem.errno,
                f"{self.path} cannot be written ({explain(problem)}); choose another --out",
            ) from None
        write_text(self._scratch / _RUN_ID, self.run_id)
        write_record(self._scratch / _INPUTS, inputs)
        return Journal(self._scratch / _JOURNAL if saves else None, on_round)

    def _check_inputs(self) -> Inputs:
        """The inputs of the run that is resumed; refuse those that have changed."""
        file = self._scratch / _INPUTS
        before = read_record(file, Inputs) if file.exists() else None
        now = read_inputs(self._study, before)
        if before is not None and (changed := now.find_change(before, self._study)):
            raise ConfigError(
                f"{self._scratch} cannot be continued: {changed} has changed since this run was "
                "interrupted; start again with --force"
            )
        return now

    def _refuse_discarding(self) -> None:
        """Announce an unfinished run that has saved anything, rather than start again."""
        if not any((self._scratch / _JOURNAL).glob("*.npz")):
            return
        self._check_inputs()
        raise ConfigError(announce_unfinished(self.path))

    def _saved_run_id(self) -> str:
        """The id of the unfinished run, which a run that is almost finished has in its model."""
        return _read_run_id(self._scratch / _RUN_ID) or _run_id_of(self._scratch)

    def _discard_unfinished(self) -> None:
        self._remove_labels(self._saved_run_id())
        shutil.rmtree(self._scratch, ignore_errors=True)

    def label_files(self, kind: str) -> dict[str, Path]:
        """The file for each client's labels: beside its data, or in the folder of the run.

        The folder beside the data has the id of the run in its name, so no run ever writes where
        another one did.
        """
        study = self._study
        if kind == "none":
            return {}
        if study.outputs.labels_in == "run":
            return {c: self._scratch / "labels" / f"{c}.{kind}" for c in study.clients}
        return {
            client: self._label_folder(files[0].parent, self.run_id) / f"{client}.{kind}"
            for client in study.clients
            if (files := study.files(client))
        }

    def _label_folder(self, data: Path, run_id: str) -> Path:
        return data / _LABELS / f"{self.path.absolute().name}-{run_id}"

    def _remove_labels(self, run_id: str) -> None:
        """Remove the labels of a run that this one replaces."""
        if not run_id:
            return
        found = [file for client in self._study.clients for file in self._study.files(client)]
        for data in {file.parent for file in found}:
            shutil.rmtree(self._label_folder(data, run_id), ignore_errors=True)

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
        choice: ChoiceRecord | None,
        summary: DataSummary | None = None,
    ) -> None:
        """Write the remaining files, and give the folder its final name.

        The summary is one that results may show.
        """
        scratch = self._scratch
        write_text(scratch / "study.toml", self._study.path.read_text(encoding="utf-8"))
        write_record(scratch / "model.json", model.as_config())
        write_record(scratch / "profile.json", profile)
        write_lines(scratch / "history.jsonl", [RoundRecord(**asdict(line)) for line in history])
        if choice:
            write_record(scratch / "choice.json", choice)
        if summary:
            write_record(scratch / SUMMARY, summary.as_config())
        if self._study.outputs.report:
            from ..report import write_report

            write_report(scratch)
        shutil.rmtree(scratch / _JOURNAL, ignore_errors=True)
        for file in (_INPUTS, _RUN_ID, PROGRESS):
            (scratch / file).unlink(missing_ok=True)
        self._replace_earlier()

    def _replace_earlier(self) -> None:
        """Put the complete folder in its place; an earlier run is removed with its labels."""
        old = self._scratch.with_suffix(".old")
        shutil.rmtree(old, ignore_errors=True)
        if self.path.exists():
            self.path.rename(old)
        self._scratch.rename(self.path)
        if (replaced := _run_id_of(old)) != self.run_id:
            self._remove_labels(replaced)
        shutil.rmtree(old, ignore_errors=True)


def announce_unfinished(folder: Path) -> str:
    """What can be done about an unfinished run."""
    return (
        f"an unfinished run exists in {unfinished_folder(folder)}; continue it with --resume, or "
        "start again with --force"
    )


def explain_nothing_to_resume(folder: Path) -> str:
    """Why there is nothing to resume."""
    if (folder / "model.json").exists():
        return f"--resume: the run in {folder} is already finished; use --force to run it again"
    return f"--resume: {folder} has no unfinished run; leave out --resume"


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


def _read_run_id(file: Path) -> str:
    """The id that an unfinished run has saved; empty if there is none."""
    return _checked_id(file.read_text(encoding="utf-8")) if file.exists() else ""


def _run_id_of(folder: Path) -> str:
    """The id of the run in a folder; empty if it is not known."""
    try:
        return _checked_id(read_record(folder / "model.json", _WithRunId).run_id)
    except FedclustError:  # no model, or a damaged one
        return ""


@dataclass(frozen=True)
class _WithRunId:
    """The part of model.json that names the run."""

    run_id: str


def _checked_id(text: str) -> str:
    """The id, if it can be part of a file name; labels are removed by it."""
    return text if re.fullmatch(r"[0-9a-f]{1,16}", text) else ""
