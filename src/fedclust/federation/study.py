"""A study over clients behind a network: look, prepare, cluster, count, label.

The same plans in the same order as in one process, so the same numbers come out; only labels are
written elsewhere, by each client beside its own file.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..chain import Clustering, cluster
from ..channels import RemoteChannel
from ..core import DataError, Participation, Plan, Schema, TooFewClients, run
from ..core.envelope import describe, one_line
from ..metrics.sizes import ClusterSizes
from ..preprocessing import Column
from ..preprocessing.prepare import prepare_over
from ..privacy import transforms_for
from ..study.file import Study
from ..study.folder import writable, write_folder
from ..study.preflight import Problem
from ..study.run import Outcome, algorithm_of
from ..typing import FloatArray, IntArray
from .site import LABEL, LOOK

Say = Callable[[str], object]


def run_across(
    study: Study,
    remote: RemoteChannel,
    folder: Path,
    *,
    force: bool = False,
    say: Say = lambda words: None,
) -> Outcome:
    """Run the study over all clients that are there, and write its folder, whole or not at all."""
    writable(folder, force=force)
    algorithm = algorithm_of(study)
    columns, rows = _examined(study, remote, say)
    P = sum(len(column.encoded_names) for column in columns)
    say(f"preparing {P} columns of {sum(rows.values()):,} rows at {', '.join(sorted(rows))}")
    ready = prepare_over(
        columns,
        remote.over({"columns": [asdict(column) for column in columns]}, Schema(P)),
        scaling=study.data["scaling"],
        missing=study.data["missing"],
        privacy=study.privacy["tier"],
    )
    form = {"preparation": ready.as_config()}
    schema = Schema(P)
    say(f"clustering: {algorithm.key}")
    found = cluster(
        algorithm,
        remote.over(form, schema),
        schema,
        init=study.clustering["init"],
        n_init=study.clustering["n_init"],
        privacy=study.privacy["tier"],
        participation=Participation(**study.participation),
        seed=study.clustering["seed"],
    )
    order, sizes = _by_size(study, found, remote, form, schema)
    done = Outcome(folder, ready, found.centers[order], sizes, found)
    say("labels are written at the clients")
    _label(remote, found, done.centers, form)
    write_folder(study, done, {}, {})
    return done


def _examined(
    study: Study, remote: RemoteChannel, say: Say
) -> tuple[tuple[Column, ...], dict[str, int]]:
    """The columns to use, and each client's number of rows, once all of them pass."""
    wanted = study.features and [asdict(column) for column in study.features]
    told = remote.tell(LOOK, {"columns": wanted})
    answers = {client: _seen(client, words) for client, words in told.items()}
    seen = {client: found for client, found in answers.items() if found}
    least = study.participation["min_clients"]
    if len(seen) < least or not seen:
        raise TooFewClients(
            f"{len(seen)} clients can take part, min_clients = {least}{remote.why()}"
        )
    rows = {client: n for client, (n, _, _) in seen.items()}
    problems = [p for _, _, found in seen.values() for p in found]
    for problem in problems:
        say(f"client {problem.client!r}: {problem.column} {problem.what}".replace(":  ", ": "))
    if stops := [problem for problem in problems if problem.stops]:
        place = f"column {stops[0].column!r}: " if stops[0].column else ""
        raise DataError(f"client {stops[0].client!r}: {place}{stops[0].what}")
    columns = study.features or _shared([seen[c][1] for c in _order(study, seen)])
    if not columns:
        raise DataError("no numeric column is shared by all clients")
    if sum(rows.values()) < study.clustering["n_clusters"]:
        raise DataError(f"{sum(rows.values())} rows cannot make so many clusters")
    return columns, rows


def _order(study: Study, seen: Mapping[str, Any]) -> list[str]:
    """Clients as the study lists them, then by name: the first one's order of columns counts."""
    listed = [client for client in study.clients if client in seen]
    return [*listed, *sorted(set(seen) - set(listed))]


def _seen(client: str, told: Any) -> tuple[int, list[str], list[Problem]] | None:
    """What a client says of its data: rows, numeric columns, problems; None if it is no answer."""
    try:
        rows, numbers = told["rows"], [str(name) for name in told["numbers"]]
        problems = [
            Problem(client, one_line(column), one_line(what), bool(stops))
            for column, what, stops in told["problems"]
        ]
    except (TypeError, KeyError, ValueError):
        return None
    return (rows, numbers, problems) if type(rows) is int and rows >= 0 else None


def _shared(numbers: list[list[str]]) -> tuple[Column, ...]:
    return tuple(Column(n) for n in numbers[0] if all(n in others for others in numbers))


def _by_size(
    study: Study, found: Clustering, remote: RemoteChannel, form: Any, schema: Schema
) -> tuple[IntArray, IntArray]:
    """Clusters from the largest to the smallest: a name that does not depend on the seed."""
    fuzzifier = vars(found.algorithm)["fuzzifier"] if found.algorithm.soft else None
    counting = ClusterSizes(len(found.centers), found.centers, fuzzifier)
    withheld = transforms_for(counting, schema.n_features, study.privacy["tier"])
    everybody = Participation(min_clients=study.participation["min_clients"])
    plan = Plan(counting, withheld)
    rows = run(plan, remote.over(form, schema), schema, participation=everybody).model.astype(int)
    order = np.argsort(-rows, kind="stable")
    return order, rows[order]


def _label(remote: RemoteChannel, found: Clustering, centers: FloatArray, form: Any) -> None:
    header, arrays = describe(Plan(found.algorithm))
    remote.tell(LABEL, {**header, "data": form}, {**arrays, "centers": centers})
