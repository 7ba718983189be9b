"""A study's clients behind a network: what they say of their data, and ways to their rows.

A study asks them the same plans in the same order as clients whose files are at hand, so the same
numbers come out; labels are written by each client itself, beside its own data.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from ...channels import RemoteChannel
from ...channels.remote import Rows
from ...client.files import Counted, Problem
from ...client.session import LABEL, LOOK
from ...clustering.model import Model
from ...clustering.preparation import Column, Preparation
from ...core import Channel, Schema, TooFewClients
from ...core.envelope import one_line
from ...privacy import CheckedChannel
from ...tiers import Tier
from ..preflight import Seen, of_all, shared
from ..settings import Study, make_algorithm


class RemoteClients:
    """Clients that answer over a channel."""

    compares = False  # what a study does not need is not asked
    tier = "secure"

    def __init__(self, remote: RemoteChannel) -> None:
        self._remote = remote
        self._counted: Mapping[str, Counted | None] = {}

    def look(self, study: Study, tier: Tier) -> Seen:
        """Ask everybody for problems and counts; too few answers end the study."""
        columns, counts = study.features, not tier.sums_only
        if columns is None:
            named = self._looks(study, None, counts=False)
            columns = shared([look.numbers for look in named.values()])
        looks = self._looks(study, columns, counts=counts) if columns else {}
        looks = self._fitting(study, looks)
        self._counted = counted = {client: look.counted for client, look in looks.items()}
        problems = [problem for look in looks.values() for problem in look.problems]
        return Seen(columns, counted, (*problems, *of_all(study, columns, counted)))

    def _looks(
        self, study: Study, columns: Sequence[Column] | None, *, counts: bool
    ) -> dict[str, "Look"]:
        wanted = None if columns is None else [asdict(column) for column in columns]
        algorithm = make_algorithm(study.clustering, study.n_clusters[0]).key
        words = {"columns": wanted, "counts": counts, "algorithm": algorithm}
        told = self._remote.tell(LOOK, words)
        looks = {client: look_of(client, words) for client, words in sorted(told.items())}
        found = {client: look for client, look in looks.items() if look is not None}
        least = study.sampling.min_clients
        if len(found) < max(least, 1):
            raise TooFewClients(
                f"{len(found)} clients can take part, min_clients = {least}{self._remote.why()}"
            )
        return found

    def _fitting(self, study: Study, looks: dict[str, "Look"]) -> dict[str, "Look"]:
        """Those whose data fit the study, if they are enough; others are left out, on record."""
        fit = {c: look for c, look in looks.items() if not any(p.stops for p in look.problems)}
        if len(fit) < max(study.sampling.min_clients, 1):
            return looks  # which says what is wrong with them
        for client in looks.keys() - fit.keys():
            stops = next(p for p in looks[client].problems if p.stops)
            where = f"column {stops.column!r}: " if stops.column else ""
            self._remote.go_on_without(client, f"its data do not fit: {where}{stops.what}", LOOK)
        return fit

    def encoded(self, columns: Sequence[Column]) -> Rows:
        """A way to the columns as numbers, gaps and all."""
        P = sum(len(column.encoded_names) for column in columns)
        return self._remote.over({"columns": [asdict(c) for c in columns]}, Schema(P))

    def prepared(self, ready: Preparation) -> Channel:
        """A way to the rows, ready to be clustered; who sends impossible sums is left out."""
        schema = ready.schema()
        rows = self._remote.over({"preparation": ready.as_config()}, schema)
        enrolled = {c: n.used(ready) for c, n in self._counted.items() if n is not None}
        return CheckedChannel(
            rows, schema, records=enrolled, cap=math.inf, note=self._remote.left_out
        )

    def label(self, model: Model) -> dict[str, Path | str]:
        """Give everybody the model: each writes its labels where its own file says."""
        words = {
            "ids": list(model.ids),
            "algorithm": model.algorithm,
            "fuzzifier": model.fuzzifier,
            "preparation": model.preparation.as_config(),
        }
        told = self._remote.tell(LABEL, words, {"centers": model.centers})
        return dict.fromkeys(told, "written there")


class Look(NamedTuple):
    """What a client says of its data."""

    counted: Counted | None  # None: it does not say
    numbers: list[str]  # columns that hold numbers
    problems: list[Problem]


def look_of(client: str, told: Any) -> Look | None:
    """The same from its answer; None if that is none."""
    try:
        counted = Counted(told["rows"], told["complete"]) if "rows" in told else None
        numbers = [str(name) for name in told["numbers"]]
        problems = [
            Problem(client, one_line(column), one_line(what), bool(stops))
            for column, what, stops in told["problems"]
        ]
    except (TypeError, KeyError, ValueError):
        return None
    if counted is not None and not _is_count(counted):
        return None
    return Look(counted, numbers, problems)


def _is_count(counted: Counted) -> bool:
    return all(type(n) is int for n in counted) and 0 <= counted.complete <= counted.rows
