"""Finished runs on disk: what was run, with which seeds, how long it took, and with what."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from fedclust.core.files import write_atomically

from .experiment import Experiment, Task
from .verdict import Results

PACKAGES = ("fedclust", "numpy", "scikit-learn", "scipy")
_DIGITS = 8  # of a stored value: further digits depend on the machine
_DIGITS_OF_CURVES = 5  # of a value by round, which only figures show


@dataclass(frozen=True)
class Finished:
    """One finished run."""

    values: Mapping[str, float]
    seconds: float | None = None  # of CPU; None: from before the time was stored
    versions: Mapping[str, str] = field(default_factory=dict)


Runs = dict[int, Finished]  # by seed


def identify(task: Task) -> str:
    """What a task runs. Stored runs of another identity are not used."""
    module = sys.modules[task.measure.__module__]
    revision = getattr(module, "REVISION", 1)
    settings = json.dumps(dict(task.settings), sort_keys=True)
    return f"{module.__name__}.{task.measure.__name__} {revision} {settings}"


def installed() -> dict[str, str]:
    """The versions that a result depends on."""
    return {"python": python_version(), **{name: version(name) for name in PACKAGES}}


@dataclass
class Store:
    """All finished runs of one experiment, in one file."""

    path: Path
    experiment: Experiment
    runs: dict[str, Runs] = field(default_factory=dict)  # by task
    failed: dict[str, str] = field(default_factory=dict)  # task -> why it could not run

    @classmethod
    def read(cls, folder: Path, experiment: Experiment) -> "Store":
        """Read the runs of the tasks that the experiment still has."""
        store = cls(folder / f"{experiment.id}.json", experiment)
        if not store.path.is_file():
            return store
        stored = json.loads(store.path.read_text())
        store.failed = stored["failed"]
        for task in experiment.tasks:
            found = stored["tasks"].get(task.name)
            if found and found["runs"] == identify(task) and _complete(found, experiment, task):
                store.runs[task.name] = _runs_of(found, stored["versions"])
        return store

    def add(self, task: Task, seed: int, finished: Finished) -> None:
        """Add a run, of which only the quantities that the page uses are kept."""
        kept = self.experiment.quantities(task.name)
        values = {q: v for q, v in finished.values.items() if q in kept}
        run = Finished(values, finished.seconds, finished.versions)
        self.runs.setdefault(task.name, {})[seed] = run
        self.failed.pop(task.name, None)

    def write(self) -> None:
        """Write the file, one line per task."""
        versions: list[Mapping[str, str]] = []
        lines = [
            f"{json.dumps(task.name)}: {json.dumps(self._line(task, versions))}"
            for task in self.experiment.tasks
            if self.runs.get(task.name)
        ]
        text = (
            f'{{"id": {json.dumps(self.experiment.id)}, "failed": {json.dumps(self.failed)},\n'
            f'"versions": {json.dumps(versions)},\n"tasks": {{\n' + ",\n".join(lines) + "\n}}\n"
        )
        write_atomically(self.path, lambda file: file.write(text.encode()))

    def _line(self, task: Task, versions: list[Mapping[str, str]]) -> dict[str, Any]:
        runs = dict(sorted(self.runs[task.name].items()))
        for run in runs.values():
            if run.versions not in versions:
                versions.append(run.versions)
        found = dict.fromkeys(q for run in runs.values() for q in run.values)
        names = [*found, *sorted(self.experiment.quantities(task.name) - set(found))]
        return {
            "runs": identify(task),
            "seeds": list(runs),
            "seconds": [r.seconds and float(f"{r.seconds:.2g}") for r in runs.values()],
            "versions": [versions.index(run.versions) for run in runs.values()],
            # A run that ended early has no values of later rounds.
            "values": {
                q: [
                    _shorten(q, v) if (v := run.values.get(q)) is not None else None
                    for run in runs.values()
                ]
                for q in names
            },
        }

    def results(self) -> Results:
        """All values, by task and seed."""
        return {
            task: {
                seed: {q: _shorten(q, v) for q, v in runs[seed].values.items()}
                for seed in sorted(runs)
            }
            for task, runs in self.runs.items()
        }

    def estimate(self, wanted: Callable[[Task], int]) -> tuple[float, int]:
        """CPU seconds of the wanted runs, by the means of stored ones; and how many have none."""
        seconds, unknown = 0.0, 0
        for task in self.experiment.tasks:
            runs = self.runs.get(task.name, {}).values()
            timed = [run.seconds for run in runs if run.seconds is not None]
            if timed:
                seconds += wanted(task) * sum(timed) / len(timed)
            else:
                unknown += wanted(task)
        return seconds, unknown


def _complete(found: Mapping[str, Any], experiment: Experiment, task: Task) -> bool:
    """Whether the stored runs have all quantities that the experiment shows by now."""
    return experiment.quantities(task.name) <= set(found["values"])


def _runs_of(found: Mapping[str, Any], versions: Sequence[Mapping[str, str]]) -> Runs:
    return {
        seed: Finished(
            {q: values[i] for q, values in found["values"].items() if values[i] is not None},
            found["seconds"][i],
            versions[found["versions"][i]],
        )
        for i, seed in enumerate(found["seeds"])
    }


def _shorten(quantity: str, value: float) -> float:
    return float(f"{value:.{_DIGITS_OF_CURVES if '@' in quantity else _DIGITS}g}")
