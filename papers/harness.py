"""Run experiments, one process per core; every finished run is stored at once."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing import TimeoutError as NoResult
from multiprocessing import get_context
from typing import NamedTuple

from fedclust import DataError

from .experiment import Task
from .store import Finished, Store, identify, installed

Report = Callable[[str, int], None]  # description and number of finished jobs
Answer = Finished | str  # a string is the reason why there is no result

# Linear algebra on a few thousand numbers is slower with several threads than with one.
ONE_THREAD = dict.fromkeys(
    (
        "FEDCLUST_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)
_SAVE_EVERY = 20.0  # seconds


class Job(NamedTuple):
    """One run, and the stores that want it: some tables and figures share their runs."""

    task: Task
    seed: int
    wanted_by: tuple[tuple[Store, Task], ...]


def open_jobs(stores: Sequence[Store], *, quick: bool, runs: int | None) -> list[Job]:
    """Runs that are not stored yet: heavy ones last. Seeds start at zero."""
    _share(stores)
    found: dict[tuple[str, int], list[tuple[Store, Task]]] = {}
    for store in stores:
        for task in store.experiment.tasks:
            done = store.runs.get(task.name, {})
            for seed in range(wanted(task, quick=quick, runs=runs)):
                if seed not in done:
                    found.setdefault((identify(task), seed), []).append((store, task))
    listed = [Job(pairs[0][1], seed, tuple(pairs)) for (_, seed), pairs in found.items()]
    return sorted(listed, key=lambda job: job.task.heavy)  # stable: otherwise in order


def _share(stores: Sequence[Store]) -> None:
    """Copy stored runs to all tables and figures that have the same task."""
    tasks = [(store, task, identify(task)) for store in stores for task in store.experiment.tasks]
    known = {
        (identity, seed): run
        for store, task, identity in tasks
        for seed, run in store.runs.get(task.name, {}).items()
    }
    changed: dict[int, Store] = {}
    for store, task, identity in tasks:
        needed = store.experiment.quantities(task.name)
        for seed in set(range(task.runs)) - set(store.runs.get(task.name, {})):
            run = known.get((identity, seed))
            if run and needed <= set(run.values):
                store.add(task, seed, run)
                changed[id(store)] = store
    _write(changed)


def wanted(task: Task, *, quick: bool, runs: int | None) -> int:
    """How many runs of a task are asked for."""
    return task.quick if quick else task.runs if runs is None else runs


def execute(
    jobs: Sequence[Job], report: Report, *, workers: int | None = None, seconds: float | None = None
) -> bool:
    """Run all jobs, and store each result; False if the time was over before."""
    stores = {id(store): store for job in jobs for store, _ in job.wanted_by}
    saved = time.monotonic()
    try:
        for index, answer in _answers(jobs, workers or cores(), seconds):
            _take(jobs[index], answer)
            report(jobs[index].task.name, 1)
            if time.monotonic() - saved > _SAVE_EVERY:
                _write(stores)
                saved = time.monotonic()
    except NoResult:
        return False
    finally:
        _write(stores)
    return True


def _write(stores: Mapping[int, Store]) -> None:
    for store in stores.values():
        store.write()


def _take(job: Job, answer: Answer) -> None:
    for store, task in job.wanted_by:
        if isinstance(answer, str):
            store.failed[task.name] = answer
        else:
            store.add(task, job.seed, answer)


def _answers(
    jobs: Sequence[Job], workers: int, seconds: float | None
) -> Iterator[tuple[int, Answer]]:
    end = None if seconds is None else time.monotonic() + seconds
    os.environ.update(ONE_THREAD)
    versions = installed()
    payload = [(i, job.task, job.seed, versions) for i, job in enumerate(jobs)]
    with get_context("spawn").Pool(min(workers, len(jobs) or 1), _ignore_ctrl_c) as pool:
        finished = pool.imap_unordered(_run, payload)
        for _ in jobs:
            yield finished.next(None if end is None else max(0.01, end - time.monotonic()))


def _ignore_ctrl_c() -> None:  # pragma: no cover (in a process of its own)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process stops its workers


def _run(job: tuple[int, Task, int, Mapping[str, str]]) -> tuple[int, Answer]:
    index, task, seed, versions = job
    start = time.process_time()
    try:
        values = task(seed)
    except DataError as problem:
        return index, str(problem)
    return index, Finished(values, time.process_time() - start, versions)


def cores() -> int:
    """Cores that this process may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
