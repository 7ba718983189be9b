"""The owners of a study over split columns: what is asked of them, and those at hand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from ...channels import LocalChannel
from ...client.files import ClientFiles, Counted, Problem
from ...client.vertical import Aligned, Ending, Owner, Wanted
from ...clustering.alignment import IN_ONE_PROCESS
from ...core import Channel, ConfigError, Data, DataError, Schema
from ...data.ids import comparable, secret_bytes
from ...privacy import ClientPolicy, Limits
from ...typing import Array
from ..preflight import ALL, Examination, Seen, open_files, same_files
from ..run_directory import label_files
from ..settings import Study

_LIMITS = Limits(max_rounds=10_000)  # in one process nobody's patience ends before the study's


@dataclass(frozen=True)
class Offered(Seen):
    """What owners say of their data: no names, and no count that the alignment would not tell."""

    n_columns: Mapping[str, int]
    offered: Mapping[str, int]  # rows of each owner whose ids it tells, under the key


class Owners(Protocol):
    """Owners with files in this process, or behind a network: a study treats them alike."""

    tier: str  # how far they are protected unless the study says

    def look(self, study: Study, wanted: Wanted) -> Offered:
        """What each owner says of its own data: counts and problems."""

    def offered(self) -> Channel:
        """A channel to keyed hashes of the owners' ids."""

    def align(self, shared: Array) -> Mapping[str, str]:
        """Have every owner find its rows of the shared records; a fingerprint of each one's."""

    def aligned(self, schema: Schema) -> Channel:
        """A channel to those rows."""

    def finish(self, end: Ending) -> Mapping[str, Path | str]:
        """Have every owner write its part of the result; where it is, or what it says of it."""


class LocalOwners:
    """Owners whose files are at hand."""

    tier = "none"  # whoever runs the study has all columns

    def __init__(self, study: Study, folder: Path, secret: str | bytes | None = None) -> None:
        self._secret = IN_ONE_PROCESS if secret is None else secret_bytes(secret)
        self._targets = owner_files(study, folder)
        self._labels = study.outputs.labels != "none"
        self._owners: dict[str, Owner] = {}
        self._found: dict[str, Aligned] = {}

    def look(self, study: Study, wanted: Wanted) -> Offered:
        """All problems of all owners at once."""
        seen = examine_owners(study, wanted, self._secret)
        self._owners = dict(seen.owners)
        offered = {name: owner.used(seen.counts[name]) for name, owner in seen.owners.items()}
        widths = {name: owner.width for name, owner in seen.owners.items()}
        return Offered((), dict.fromkeys(offered), seen.problems, widths, offered)

    def offered(self) -> Channel:
        """Tokens, which a plan calls rows: numbers, but none to compute with."""
        comparable({name: owner.ids for name, owner in self._owners.items()})
        return LocalChannel({n: tokens_as_data(owner) for n, owner in self._owners.items()})

    def align(self, shared: Array) -> dict[str, str]:
        """Each owner's rows of these records, kept here until the end."""
        self._found = {name: owner.aligned(shared) for name, owner in self._owners.items()}
        return {n: owner.fingerprint(self._found[n]) for n, owner in self._owners.items()}

    def aligned(self, schema: Schema) -> Channel:
        """The rows, each owner with a gate of its own."""
        return LocalChannel(
            {n: mine.data(ClientPolicy(limits=_LIMITS)) for n, mine in self._found.items()}
        )

    def finish(self, end: Ending) -> dict[str, Path | str]:
        """Files beside each owner's data, or wherever the study wants them."""
        for name, owner in self._owners.items():
            target = self._targets[name]
            labels = target if self._labels else None
            owner.finish(self._found[name], end, centers_beside(target), labels)
        return {n: t if self._labels else centers_beside(t) for n, t in self._targets.items()}


def tokens_as_data(owner: Owner) -> Data:
    """An owner's tokens, as plans are given rows."""
    return Data(cast(Any, owner.tokens), np.empty(0))


def centers_beside(labels: Path) -> Path:
    """Where an owner's part of the centres is written."""
    return labels.with_name(f"{labels.stem}.centers.json")


def owner_files(study: Study, folder: Path) -> dict[str, Path]:
    """Where each owner's labels go; without labels, what stands beside them still has a place."""
    if study.outputs.labels == "none":
        study = replace(study, outputs=replace(study.outputs, labels="csv"))
    return label_files(study, folder)


@dataclass(frozen=True)
class OwnerExamination(Examination):
    """All that can be seen of owners whose files are at hand."""

    owners: Mapping[str, Owner]


def examine_owners(
    study: Study, wanted: Wanted, secret: bytes = IN_ONE_PROCESS
) -> OwnerExamination:
    """All problems of all owners at once."""
    whole = replace(study, data=replace(study.data, batch_rows=0))
    files: dict[str, ClientFiles] = {}
    owners: dict[str, Owner] = {}
    problems: list[Problem] = []
    counts: dict[str, Counted] = {}
    for name in study.clients:
        try:
            files[name] = open_files(whole, name)
        except (ConfigError, DataError) as problem:
            problems.append(Problem(name, "", str(problem)))
            continue
        owners[name] = Owner(files[name], wanted.of(files[name]), wanted, secret)
        found, counts[name] = owners[name].look()
        problems += found
    problems += same_files(study)
    problems += _of_all(wanted, owners, len(owners) < len(study.clients))
    columns = tuple(column for owner in owners.values() for column in owner.columns)
    return OwnerExamination(columns, counts, tuple(problems), files, owners)


def _of_all(wanted: Wanted, owners: Mapping[str, Owner], some_missing: bool) -> Iterator[Problem]:
    """Columns of two owners, and features of none."""
    first: dict[str, str] = {}
    for name, owner in owners.items():
        for column in owner.columns:
            other = first.setdefault(column.name, name)
            if other != name:
                words = f"owner {other!r} has a column of this name, too; rename one, or drop it"
                yield Problem(name, column.name, words)
    for column in wanted.columns or ():
        if column.name not in first and not some_missing:
            yield Problem(ALL, column.name, "no owner has this column")
