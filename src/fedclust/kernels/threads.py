"""Run work on several threads, by blocks of rows or by client.

Results never depend on the number of threads.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, TypeVar

T = TypeVar("T")
Item = TypeVar("Item")

_BLOCK_ELEMENTS = 2**20
_BLOCK_ROWS = 2**16
_ONE_BLOCK_ROWS = 2048  # so many rows are never cut
_SMALL = 2**14  # elements: for fewer, starting a thread costs more time than it saves
_pool: ThreadPoolExecutor | None = None
_thread = threading.local()
_blas_lock = threading.Lock()
_blas_before: list[tuple[Any, int]] = []  # libraries that are limited, and their threads before
_blas_limit_users = 0  # number of such callers


def n_threads() -> int:
    """Number of threads: `FEDCLUST_NUM_THREADS`, or the CPUs available to this process."""
    wanted = os.environ.get("FEDCLUST_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def blocks(n: int, n_features: int) -> list[slice]:
    """Cut n rows into equal blocks, the same on every machine, so that sums are identical."""
    if n < _ONE_BLOCK_ROWS:
        return [slice(0, n)]
    max_rows = max(_ONE_BLOCK_ROWS, min(_BLOCK_ROWS, _BLOCK_ELEMENTS // n_features))
    count = max(1, -(-n // max_rows), min(8, n // max(1024, max_rows // 4)))
    if count > 4:
        count = -(-count // 8) * 8  # so that 2, 4 or 8 threads finish together
    cuts = [n * i // count for i in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(cuts)]


def map_blocks(
    step: Callable[[slice], T], n: int, n_features: int, *, products: bool = True
) -> list[T]:
    """Run `step` on every block and return the results in row order.

    Each matrix product runs on one BLAS thread. A product split between threads may round
    differently, and results must not depend on the machine.
    """
    if not products or getattr(_thread, "is_worker", False):
        return map_in_parallel(step, blocks(n, n_features))
    with one_blas_thread():
        return map_in_parallel(step, blocks(n, n_features))


def worth_a_thread(n: int, n_features: int) -> bool:
    """Whether a table is a single block that is large enough to justify its own thread."""
    return n * n_features >= _SMALL and len(blocks(n, n_features)) == 1


def map_in_parallel(step: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """Run `step` on every item and return the results in order.

    A call from a worker thread runs in that thread.
    """
    if len(items) < 2 or getattr(_thread, "is_worker", False):
        return [step(item) for item in items]
    with one_blas_thread():  # otherwise BLAS in each worker would use all cores
        if n_threads() == 1:  # set once here, not at each product of each item
            return [step(item) for item in items]
        return list(_workers().map(step, items))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last concurrent caller has left this block."""
    global _blas_before, _blas_limit_users
    with _blas_lock:
        if _blas_limit_users == 0:
            # The controller's own way to limit describes all libraries, which takes longer than a
            # step of a small client.
            _blas_before = [(library, library.get_num_threads()) for library in _blas()]
            _set_threads([(library, 1) for library, n in _blas_before if n != 1])
        _blas_limit_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_limit_users -= 1
            if _blas_limit_users == 0:
                _set_threads([(library, n) for library, n in _blas_before if n != 1])


def _set_threads(wanted: list[tuple[Any, int]]) -> None:
    for library, n in wanted:
        library.set_num_threads(n)


@cache
def _blas() -> list[Any]:
    """The BLAS libraries of this process."""
    from threadpoolctl import ThreadpoolController

    if find_spec("numba") is not None:  # numba uses the BLAS of SciPy,
        import scipy.linalg  # noqa: F401  # which can be limited only once it is loaded

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _workers() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(
            n_threads(), "fedclust", initializer=lambda: setattr(_thread, "is_worker", True)
        )
    return _pool


def _forget_pool() -> None:
    global _pool, _blas_lock
    _pool = None  # a forked child inherits the object, but not its threads
    _blas_lock = threading.Lock()  # one of those threads may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
