"""Align the records that all owners share, by their id columns."""

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
MIN_OVERLAP = 0.1  # share of the smallest owner's rows
# If all owners are in this process, no party must be kept from knowing the secret. A constant keeps
# the order of the records, which is that of the hashes, the same in every run.
LOCAL_SECRET = b"all owners are in one process"


@dataclass(frozen=True, eq=False)
class Alignment:
    """Rows of the shared records at each owner, in a common order."""

    rows: Mapping[str, IntArray]  # row numbers in the owner's table
    n_rows: Mapping[str, int]  # number of rows of each owner

    @property
    def n_records(self) -> int:
        """Number of records that all owners have."""
        return len(next(iter(self.rows.values())))

    def in_row_order(self, owner: str, values: Array, absent: float) -> Array:
        """Values of the shared records in the row order of an owner; `absent` elsewhere."""
        by_row = np.full((self.n_rows[owner], *values.shape[1:]), absent, dtype=values.dtype)
        by_row[self.rows[owner]] = values
        return by_row

    def report(self) -> dict[str, str]:
        """Message for each owner: how many of its rows take part."""
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
    """Align the records that all owners have.

    `columns` gives the name and values of each owner's id column. With "hash", owners share a
    secret (not needed if all are in this process); with "psi" they need none. An overlap below
    `min_overlap` of the smallest owner's rows is refused: the ids are then probably of different
    kinds.
    """
    if method not in METHODS:
        raise ConfigError(f"alignment must be 'hash' or 'psi', got {method!r}")
    if not isinstance(min_overlap, int | float) or not 0 <= min_overlap <= 1:
        raise ConfigError(f"min_overlap must be a number between 0 and 1, got {min_overlap!r}")
    key = LOCAL_SECRET if secret is None else secret_bytes(secret)
    read = {owner: read_ids(v, owner, name, ids) for owner, (name, v) in columns.items()}
    check_comparable(read)
    rows = _align_by_psi(read, key) if method == "psi" else _align_by_hash(read, key)
    alignment = Alignment(rows, {owner: len(one.text) for owner, one in read.items()})
    check_overlap(alignment.n_records, alignment.n_rows, min_overlap)
    return alignment


def _align_by_hash(ids: Mapping[str, Ids], secret: bytes) -> dict[str, IntArray]:
    # The rows of this plan are hashes: integers, but not for computation.
    data = {o: Data(cast(Any, hash_ids(one, secret)), np.empty(0)) for o, one in ids.items()}
    shared: Array = run(Plan(RecordAlignment()), LocalChannel(data), Schema(2)).model
    return {owner: RecordAlignment().assign(shared, mine) for owner, mine in data.items()}


def _align_by_psi(ids: Mapping[str, Ids], secret: bytes) -> dict[str, IntArray]:
    common = Ids("", shared_by_psi({owner: one.text for owner, one in ids.items()}))
    # Order by keyed hashes, because the order of the ids would reveal something about them.
    order = np.lexsort(hash_ids(common, secret).T[::-1])
    shared = [common.text[i] for i in order]
    rows = {owner: {text: r for r, text in enumerate(one.text)} for owner, one in ids.items()}
    return {o: np.array([rows[o][text] for text in shared], dtype=np.int64) for o in ids}


def check_overlap(n_records: int, n_rows: Mapping[str, int], min_overlap: float) -> None:
    """Refuse so small an overlap that the ids are probably of different kinds."""
    if n_records < max(1.0, min_overlap * min(n_rows.values())):
        sizes = ", ".join(f"{owner} {n:,}" for owner, n in n_rows.items())
        raise DataError(
            f"only {n_records:,} records are shared by all owners ({sizes} rows), fewer than "
            f"min_overlap={min_overlap:g} of the smallest owner; check that all owners use the "
            "same kind of ids and the same secret"
        )


def align_tables(
    frames: Mapping[str, Any], id: str | Mapping[str, str], **settings: Any
) -> tuple[Alignment, dict[str, Table]]:
    """Align tables by their id column, and return each owner's features of the shared records.

    A table is a data frame, or a dict of column to values; `settings` are those of `align`.
    """
    if not isinstance(frames, Mapping) or len(frames) < 2:
        raise DataError("frames: expected a dict of owner to data frame, with two owners or more")
    if not isinstance(id, str | Mapping):
        raise ConfigError(f"id: expected the name of the id column, or one per owner, got {id!r}")
    named = dict(zip(as_names(frames), frames.values(), strict=True))
    names = {str(o): n for o, n in id.items()} if isinstance(id, Mapping) else {}
    columns: dict[str, tuple[str, Any]] = {}
    for owner, frame in named.items():
        name = id if isinstance(id, str) else names.get(owner)
        if name is None or name not in (column_names(frame, owner) or ()):
            raise DataError(f"owner {owner!r}: id column {name!r} does not exist in its table")
        columns[owner] = (name, frame[name])
    alignment = align(columns, **settings)
    return alignment, {o: _features(f, columns[o][0], alignment, o) for o, f in named.items()}


def _features(frame: Any, id: str, alignment: Alignment, owner: str) -> Table:
    names = [c for c in column_names(frame, owner) or () if c != id]
    if not names:
        raise DataError(f"owner {owner!r}: its table has no column besides the id column")
    selected = {c: frame[c] for c in names} if isinstance(frame, Mapping) else frame[names]
    table = table_of(selected, owner)
    if len(table.X) != alignment.n_rows[owner]:
        n = alignment.n_rows[owner]
        raise DataError(f"owner {owner!r}: {n} ids, but {len(table.X)} rows of features")
    return table._replace(X=table.X[alignment.rows[owner]])
