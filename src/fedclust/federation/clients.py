"""A study's clients behind a network: what they say of their data, and ways to their rows.

A study asks them the same plans in the same order as clients whose files are at hand, so the same
numbers come out; labels are written by each client itself, beside its own data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from ..channels import RemoteChannel
from ..channels.remote import Rows
from ..core import Schema, TooFewClients
from ..core.envelope import one_line
from ..preprocessing import Column, Preparation
from ..study.file import Study
from ..study.model import Model
from ..study.preflight import Counted, Examination, Problem
from .site import LABEL, LOOK


class RemoteClients:
    """Clients that answer over a channel."""

    compares = False  # what a study does not need is not asked

    def __init__(self, study: Study, remote: RemoteChannel) -> None:
        self._study, self._remote = study, remote

    def examine(self) -> Examination:
        """Ask everybody for counts and problems; too few answers end the study."""
        columns = self._study.features
        if columns is None:
            columns = _shared([seen.numbers for seen in self._looks(None).values()])
        if not columns:
            nobody = Problem("all", "", "no numeric column is shared by all clients")
            return Examination({}, (), {}, (nobody,))
        looks = self._looks(columns)
        problems = [problem for seen in looks.values() for problem in seen.problems]
        counts = {client: seen.counted for client, seen in looks.items()}
        n, wanted = sum(counted.rows for counted in counts.values()), self._study.n_clusters[0]
        if n < wanted:
            problems.append(Problem("all", "", f"{n} rows cannot make n_clusters = {wanted}"))
        return Examination({}, columns, counts, tuple(problems))

    def _looks(self, columns: Sequence[Column] | None) -> dict[str, "Seen"]:
        wanted = None if columns is None else [asdict(column) for column in columns]
        told = self._remote.tell(LOOK, {"columns": wanted})
        looks = {client: seen(client, words) for client, words in sorted(told.items())}
        found = {client: look for client, look in looks.items() if look is not None}
        least = self._study.participation["min_clients"]
        if len(found) < max(least, 1):
            raise TooFewClients(
                f"{len(found)} clients can take part, min_clients = {least}{self._remote.why()}"
            )
        return found

    def encoded(self, columns: Sequence[Column]) -> Rows:
        """A way to the columns as numbers, gaps and all."""
        P = sum(len(column.encoded_names) for column in columns)
        return self._remote.over({"columns": [asdict(c) for c in columns]}, Schema(P))

    def prepared(self, ready: Preparation) -> Rows:
        """A way to the rows, ready to be clustered."""
        return self._remote.over({"preparation": ready.as_config()}, Schema(len(ready.names)))

    def label(self, model: Model, targets: Mapping[str, Path]) -> None:
        """Give everybody the model: each writes its labels where its own file says."""
        words = {
            "ids": list(model.ids),
            "algorithm": model.algorithm,
            "fuzzifier": model.fuzzifier,
            "preparation": model.preparation.as_config(),
        }
        self._remote.tell(LABEL, words, {"centers": model.centers})


class Seen(NamedTuple):
    """What a client says of its data."""

    counted: Counted
    numbers: list[str]  # columns that hold numbers
    problems: list[Problem]


def seen(client: str, told: Any) -> Seen | None:
    """The same from its answer; None if that is none."""
    try:
        counted = Counted(told["rows"], told["complete"])
        numbers = [str(name) for name in told["numbers"]]
        problems = [
            Problem(client, one_line(column), one_line(what), bool(stops))
            for column, what, stops in told["problems"]
        ]
    except (TypeError, KeyError, ValueError):
        return None
    if any(type(n) is not int for n in counted) or not 0 <= counted.complete <= counted.rows:
        return None
    return Seen(counted, numbers, problems)


def _shared(numbers: list[list[str]]) -> tuple[Column, ...]:
    """In the order of the first client by name."""
    return tuple(Column(n) for n in numbers[0] if all(n in others for others in numbers))
