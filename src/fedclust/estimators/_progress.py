"""What a fit reports while it runs: to the log, to the screen, and to a callback."""

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ..core import ALL_CLIENTS, Channel, ClientSampling, ConfigError, Plan, Round, Run, Schema, run

LOG = logging.getLogger("fedclust.estimators")
_COMPILING = (
    "compiling the local steps, once for this installation; this takes a few seconds and is kept "
    "in a cache"
)
_noted = False  # the note on compilation appears once in a process


@dataclass(frozen=True)
class FitRound:
    """One round of a fit, as a callback gets it.

    Attributes
    ----------
    step : {"start", "clustering", "scoring"}
        What the round is for. A fit with several initialisations has each step several times.
    round : int
        Number of the round within its step, from 1.
    max_rounds : int or None
        Maximum number of rounds of the step; None if it has no limit.
    shift : float
        How far the centres moved; NaN where there are none yet.
    n_clients : int
        Clients that answered.
    bytes_down, bytes_up : int
        Bytes to all clients, and from all clients.

    Examples
    --------
    >>> import numpy as np
    >>> from fedclust import FederatedKMeans
    >>> tables = {"north": np.eye(4), "south": 5 + np.eye(4)}
    >>> seen = []
    >>> model = FederatedKMeans(2, callback=seen.append, random_state=0).fit(tables)
    >>> sum(one.step == "clustering" for one in seen) == model.n_rounds_
    True
    """

    step: str
    round: int
    max_rounds: int | None
    shift: float
    n_clients: int
    bytes_down: int
    bytes_up: int

    def __str__(self) -> str:
        most = f" of at most {self.max_rounds}" if self.max_rounds else ""
        moved = "" if self.shift != self.shift else f", shift {self.shift:.3g}"
        return f"{self.step}, round {self.round}{most}: {_several(self.n_clients, 'client')}{moved}"


def _several(n: int, one: str) -> str:
    return f"{n:,} {one}{'' if n == 1 else 's'}"


class Progress:
    """Runs the plans of a fit, and reports each round."""

    def __init__(self, estimator: Any) -> None:
        self._name, self._verbose = type(estimator).__name__, estimator.verbose
        self._callback: Callable[[FitRound], object] | None = estimator.callback
        if self._callback is not None and not callable(self._callback):
            raise ConfigError(
                f"callback must be a function of one round, or None; got {self._callback!r}"
            )
        if not isinstance(self._verbose, int | bool) or self._verbose < 0:
            raise ConfigError(f"verbose must be an integer from 0, got {self._verbose!r}")

    def run(
        self,
        plan: Plan,
        channel: Channel,
        schema: Schema,
        *,
        sampling: ClientSampling = ALL_CLIENTS,
    ) -> Run:
        """Run the plan to its end."""

        def report(last: Round) -> None:
            self._report(plan, last)

        return run(plan, channel, schema, sampling=sampling, on_round=report)

    def _report(self, plan: Plan, last: Round) -> None:
        found = FitRound(
            plan.purpose or "clustering",
            last.number + 1,
            plan.algorithm.parameter("max_rounds"),
            float(getattr(last.state, "shift", float("nan"))),
            len(last.cohort),
            last.bytes_down,
            last.bytes_up,
        )
        self._say(logging.DEBUG, found)
        if self._callback is not None:
            self._callback(found)

    def end(self, rounds: int, *, converged: bool) -> None:
        """Report the end of a fit."""
        how = "converged" if converged else "stopped before it converged"
        self._say(logging.INFO, f"{how} after {_several(rounds, 'round')}")

    def _say(self, level: int, what: object) -> None:
        if self._verbose:
            sys.stdout.write(f"[{self._name}] {what}\n")
        LOG.log(level, "%s: %s", self._name, what)


@contextmanager
def noted_compilation() -> Iterator[None]:
    """Within this block, the first compilation in this process is announced."""
    if _noted or "numba" not in sys.modules:
        yield
        return
    from numba.core import event

    class Note(event.Listener):
        """Announces the first compilation."""

        def on_start(self, event: Any) -> None:
            global _noted
            if not _noted:
                _noted = True
                LOG.warning("%s", _COMPILING)

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Note()):
        yield


def warn_of_end(key: str, n_rounds: int, remedy: str, stacklevel: int) -> None:
    """Warn that a fit ended before it converged."""
    rounds = "1 round" if n_rounds == 1 else f"{n_rounds} rounds"
    warnings.warn(
        f"{key} did not converge in {rounds}; {remedy}", ConvergenceWarning, stacklevel=stacklevel
    )
