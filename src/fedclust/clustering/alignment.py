"""Alignment: from owners' id columns to the rows of the records that all of them have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..algorithms.record_alignment import RecordAlignment
from ..channels import LocalChannel
from ..core import ConfigError, Data, DataError, Plan, Schema, run
from ..data.ids import Ids, check_comparable, hash_ids, read_ids, secret_bytes
from ..data.owner_tables import Table, as_names, column_names, table_of
from ..privacy.psi import shared_by_psi
from ..typing import Array, IntArray

METHODS = ("hash", "psi")
MIN_OVERLAP = 0.1  # of the smallest owner's rows
# Where all owners are in this process there is nobody to hide from, and the order of records,
# which is that of the hashes, must be the same in every run.
IN_ONE_PROCESS = b"all owners are in one process"


@dataclass(frozen=True, eq=False)
class Alignment:
    """Where each owner has the shared records, in one order for all."""

    rows: Mapping[str, IntArray]  # positions in the owner's table, by owner
    n_rows: Mapping[str, int]  # all rows of the owner

    @property
    def n_records(self) -> int:
        """Records that all owners have."""
        return len(next(iter(self.rows.values())))

    def at_home(self, owner: str, values: Array, absent: float) -> Array:
        """Values of the shared records in the order of an owner's own rows."""
        home = np.full((self.n_rows[owner], *values.shape[1:]), absent, dtype=values.dtype)
        home[self.rows[owner]] = values
        return home

    def report(self) -> dict[str, str]:
        """To each owner: how many of its rows take part."""
        n = self.n_records
        return {
            owner: f"{n:,} of your {size:,} rows take part" for owner, size in self.n_rows.items()
        }


def align(
    columns: Mapping[str, tuple[str, Any]],
    *,
    method: str = "hash",
    secret: str | bytes | None = None,
    ids: str = "auto",
    min_overlap: float = MIN_OVERLAP,
) -> Alignment:
    """The records that all owners have.

    `columns` gives each owner's id column, by name and values. By "hash" owners share a secret
    (none is needed where all of them are in this process); by "psi" they need none. An overlap
    below `min_overlap` of the smallest owner's rows is refused: mostly ids are of two kinds then.
    """
    if method not in METHODS:
        raise ConfigError(f"alignment must be 'hash' or 'psi', got {method!r}")
    if not isinstance(min_overlap, int | float) or not 0 <= min_overlap <= 1:
        raise ConfigError(f"min_overlap must be a number between 0 and 1, got {min_overlap!r}")
    key = IN_ONE_PROCESS if secret is None else secret_bytes(secret)
    read = {owner: read_ids(v, owner, name, ids) for owner, (name, v) in columns.items()}
    check_comparable(read)
    rows = _by_psi(read, key) if method == "psi" else _by_hash(read, key)
    found = Alignment(rows, {owner: len(one.text) for owner, one in read.items()})
    enough_shared(found.n_records, found.n_rows, min_overlap)
    return found


def _by_hash(ids: Mapping[str, Ids], secret: bytes) -> dict[str, IntArray]:
    # What the plan calls rows are tokens here: numbers, but none to compute with.
    data = {o: Data(cast(Any, hash_ids(one, secret)), np.empty(0)) for o, one in ids.items()}
    shared: Array = run(Plan(RecordAlignment()), LocalChannel(data), Schema(2)).model
    return {owner: RecordAlignment().assign(shared, mine) for owner, mine in data.items()}


def _by_psi(ids: Mapping[str, Ids], secret: bytes) -> dict[str, IntArray]:
    found = Ids("", shared_by_psi({owner: one.text for owner, one in ids.items()}))
    # In the order of keyed hashes: that of the ids would tell the server something of them.
    order = np.lexsort(hash_ids(found, secret).T[::-1])
    shared = [found.text[i] for i in order]
    rows = {owner: {text: r for r, text in enumerate(one.text)} for owner, one in ids.items()}
    return {o: np.array([rows[o][text] for text in shared], dtype=np.int64) for o in ids}


def enough_shared(n_records: int, n_rows: Mapping[str, int], min_overlap: float) -> None:
    """Refuse records so few that ids are probably of two kinds."""
    if n_records < max(1.0, min_overlap * min(n_rows.values())):
        sizes = ", ".join(f"{owner} {n:,}" for owner, n in n_rows.items())
        raise DataError(
            f"only {n_records:,} records are shared by all owners ({sizes} rows), fewer than "
            f"min_overlap={min_overlap:g} of the smallest allows; are the ids of one kind, and is "
            "the secret the same everywhere?"
        )


def aligned_tables(
    frames: Mapping[str, Any], id: str | Mapping[str, str], **how: Any
) -> tuple[Alignment, dict[str, Table]]:
    """The shared records of tables with an id column, and each owner's features of them.

    A table is a data frame, or a dict of column to values; `how` is that of `align`.
    """
    if not isinstance(frames, Mapping) or len(frames) < 2:
        raise DataError("frames: give a dict of owner to data frame, of two owners or more")
    if not isinstance(id, str | Mapping):
        raise ConfigError(f"id: give the id column's name, or one for each owner, not {id!r}")
    named = dict(zip(as_names(frames), frames.values(), strict=True))
    names = {str(o): n for o, n in id.items()} if isinstance(id, Mapping) else {}
    columns: dict[str, tuple[str, Any]] = {}
    for owner, frame in named.items():
        name = id if isinstance(id, str) else names.get(owner)
        if name is None or name not in (column_names(frame, owner) or ()):
            raise DataError(f"owner {owner!r}: there is no id column {name!r} in its table")
        columns[owner] = (name, frame[name])
    found = align(columns, **how)
    return found, {o: _features(f, columns[o][0], found, o) for o, f in named.items()}


def _features(frame: Any, id: str, found: Alignment, owner: str) -> Table:
    names = [c for c in column_names(frame, owner) or () if c != id]
    if not names:
        raise DataError(f"owner {owner!r}: its table has an id column and nothing else")
    picked = {c: frame[c] for c in names} if isinstance(frame, Mapping) else frame[names]
    whole = table_of(picked, owner)
    if len(whole.X) != found.n_rows[owner]:
        n = found.n_rows[owner]
        raise DataError(f"owner {owner!r}: {n} ids, but {len(whole.X)} rows of features")
    return whole._replace(X=whole.X[found.rows[owner]])
