"""Numba compiles where coverage does not trace it.

Numba's compiler is written in Python, and no line of it counts. Tracing doubles its time.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any


def compile_untraced() -> None:
    """Move compilation to a thread without a tracer, if this thread has one."""
    if find_spec("numba") is None:
        return
    from numba.core import dispatcher

    kind: Any = dispatcher.Dispatcher
    compile_here = kind.compile

    def compile_there(self: Any, signature: Any) -> Any:
        if sys.gettrace() is None:
            return compile_here(self, signature)
        with ThreadPoolExecutor(1, initializer=sys.settrace, initargs=(None,)) as pool:
            return pool.submit(compile_here, self, signature).result()

    kind.compile = compile_there
