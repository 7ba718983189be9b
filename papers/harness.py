"""Run experiments on all cores; finished runs are stored, so that an interruption can resume."""

import json
import os
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import fedclust
from fedclust import DataError

from . import measures
from .experiment import Experiment, Task

Results = dict[str, dict[str, list[float]]]
Report = Callable[[str, int], None]  # description and number of finished jobs


@dataclass(frozen=True)
class Job:
    """One run of one task."""

    task: Task
    seed: int

    @property
    def name(self) -> str:
        """A file name that depends on everything that influences the result."""
        measure = f"{self.task.measure.__module__}.{self.task.measure.__name__}"
        inputs = json.dumps([_fingerprint(), measure, dict(self.task.settings), self.seed])
        return sha256(inputs.encode()).hexdigest()[:24]


@cache
def _fingerprint() -> str:
    """Hash of the source code of fedclust and of the measures."""
    folders = [Path(folder) for package in (fedclust, measures) for folder in package.__path__]
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def jobs(experiment: Experiment, *, quick: bool, runs: int | None) -> list[Job]:
    """All runs of an experiment; seeds start at zero, so that few runs are the first of many."""
    all_jobs = []
    for task in experiment.tasks:
        count = task.quick if quick else task.runs if runs is None else runs
        all_jobs += [Job(task, seed) for seed in range(count)]
    return all_jobs


def execute(
    wanted: Mapping[str, list[Job]], folder: Path, report: Report
) -> Generator[tuple[str, Results, dict[str, str]], None, None]:
    """Yield results and failures of each experiment as soon as its last run is finished.

    Runs that were finished earlier are read from their files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    open_jobs = {id: len(listed) for id, listed in wanted.items()}
    outcomes: dict[str, dict[tuple[str, int], Any]] = {id: {} for id in wanted}
    os.environ["FEDCLUST_NUM_THREADS"] = "1"  # one process per core needs no threads
    with ProcessPoolExecutor(_cores(), mp_context=get_context("spawn")) as pool:
        waiting: dict[Future[Any], tuple[str, Job]] = {}
        for id, listed in wanted.items():
            for job in listed:
                waiting[pool.submit(_load_or_run, job, folder)] = (id, job)
        try:
            for future in as_completed(waiting):
                id, job = waiting.pop(future)
                outcomes[id][job.task.name, job.seed] = future.result()
                open_jobs[id] -= 1
                report(f"{id}: {job.task.name}", 1)
                if open_jobs[id] == 0:
                    yield id, *_collect(wanted[id], outcomes.pop(id))
        except BaseException:  # including Ctrl-C: let running jobs end, cancel the rest
            pool.shutdown(cancel_futures=True)
            raise
    for id, listed in wanted.items():
        if not listed:
            yield id, {}, {}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _load_or_run(job: Job, folder: Path) -> Any:
    """Quantities of a run, loaded or computed; a string is the reason why there are none."""
    path = folder / f"{job.name}.json"
    if path.is_file():
        with suppress(ValueError):  # ignore a damaged file
            return json.loads(path.read_text())
    try:
        quantities = job.task(job.seed)
    except DataError as problem:
        return str(problem)
    path.write_text(json.dumps(quantities))
    return quantities


def _collect(
    listed: list[Job], outcomes: Mapping[tuple[str, int], Any]
) -> tuple[Results, dict[str, str]]:
    results: Results = {}
    failed: dict[str, str] = {}
    for job in listed:  # in order of their seeds
        outcome = outcomes[job.task.name, job.seed]
        if isinstance(outcome, str):
            failed[job.task.name] = outcome
            continue
        of_task = results.setdefault(job.task.name, {})
        for quantity, value in outcome.items():
            of_task.setdefault(quantity, []).append(value)
    return results, failed
