"""Work on a few threads: blocks of rows, or clients. Results never depend on how many there are."""

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
_SMALL = 2**14  # elements: below, starting a thread costs more than it brings
_pool: ThreadPoolExecutor | None = None
_here = threading.local()
_limit_lock = threading.Lock()
_limit: Any = None  # while anybody wants BLAS on one thread
_limited = 0  # how many do


def n_threads() -> int:
    """Threads that may be used: `FEDCLUST_NUM_THREADS`, else the CPUs this process may use."""
    wanted = os.environ.get("FEDCLUST_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def blocks(n: int, n_features: int) -> list[slice]:
    """Cut n rows into equal blocks: the same on every machine, so that sums have the same bits."""
    most = max(2048, min(_BLOCK_ROWS, _BLOCK_ELEMENTS // n_features))
    count = max(1, -(-n // most), min(8, n // max(1024, most // 4)))
    if count > 4:
        count = -(-count // 8) * 8  # so that 2, 4 or 8 threads end together
    cuts = [n * i // count for i in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(cuts)]


def map_blocks(
    step: Callable[[slice], T], n: int, n_features: int, *, products: bool = True
) -> list[T]:
    """`step` on every block, results in the order of the rows.

    Steps with matrix products run them on one thread each, whoever calls: a product split
    between threads may round differently, and results must not depend on the machine.
    """
    if not products or getattr(_here, "is_worker", False):
        return in_parallel(step, blocks(n, n_features))
    with one_blas_thread():
        return in_parallel(step, blocks(n, n_features))


def worth_a_thread(n: int, n_features: int) -> bool:
    """Whether a table is one block, so that it cannot use two threads, yet large enough for one."""
    return n * n_features >= _SMALL and len(blocks(n, n_features)) == 1


def in_parallel(step: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """`step` on every item, results in their order; in this thread if it is a worker already."""
    if len(items) < 2 or getattr(_here, "is_worker", False) or n_threads() == 1:
        return [step(item) for item in items]
    with one_blas_thread():  # or each worker's BLAS takes all cores
        return list(_workers().map(step, items))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread, until the last of those who want it so has finished."""
    global _limit, _limited
    with _limit_lock:
        if _limited == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _limited += 1
    try:
        yield
    finally:
        with _limit_lock:
            _limited -= 1
            if _limited == 0:
                _limit.restore_original_limits()


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    if find_spec("numba") is not None:  # whose products are SciPy's: a library must be loaded
        import scipy.linalg  # noqa: F401  # to be controlled

    return ThreadpoolController()


def _workers() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(
            n_threads(), "fedclust", initializer=lambda: setattr(_here, "is_worker", True)
        )
    return _pool


def _forget_pool() -> None:
    global _pool, _limit_lock
    _pool = None  # a forked child has the object, but not its threads
    _limit_lock = threading.Lock()  # it may have been held by one of them


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
