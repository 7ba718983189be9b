"""One client's columns in a study over split columns: alignment, scaling and results.

The same code runs in one process and across machines, so both give the same numbers.
"""

import hmac
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..algorithms.record_alignment import RecordAlignment
from ..clustering.columns import AnyRecordAlgorithm, labels_of, number_records
from ..clustering.preparation import Column, Preparation
from ..core import Code, ConfigError, Data, DataError, MessageError, Record, Refusal
from ..core.files import make_folder, write_text
from ..data.ids import Ids, hash_ids, read_ids
from ..privacy.crypto import digest
from ..typing import Array, BoolArray, FloatArray, IntArray
from .files import ClientFiles, RowCounts
from .labels import write_columns
from .problems import Problem
from .requests import ColumnTask

_NOTHING: FloatArray = np.empty(0)


def select_columns(task: ColumnTask, files: ClientFiles) -> tuple[Column, ...]:
    """The columns of a task that a client has; its ids are not among them."""
    if task.columns is None:
        return tuple(Column(name) for name in files.numbers)
    present = set(files.names) - {files.id}
    return tuple(column for column in task.columns if column.name in present)


def set_bounds(
    columns: Sequence[Column], bounds: Mapping[str, tuple[float, float]]
) -> tuple[Column, ...]:
    """The columns with the bounds that their owner states, in place of the study's."""
    try:
        return tuple(
            replace(c, low=bounds[c.name][0], high=bounds[c.name][1]) if c.name in bounds else c
            for c in columns
        )
    except ConfigError as problem:  # categories, or a logarithm of bounds that are not positive
        text = "[bounds] in client.toml does not fit a column of the study"
        raise Refusal(text, code=Code.CONSENT, private=str(problem)) from None


def round_outwards(low: float, high: float) -> float:
    """The width of a range whose ends are rounded outwards, to two digits of its width."""
    step = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    return max(high - low, (math.ceil(high / step) - math.floor(low / step)) * step)


@dataclass(frozen=True, eq=False)
class FinalAssignment:
    """The clusters of all shared records, as every client gets them at the end."""

    study: str
    algorithm: AnyRecordAlgorithm
    last: Record  # the assignment that makes the centres
    order: IntArray  # the clusters from the largest to the smallest: numbers 0, 1, ...

    @classmethod
    def of(cls, study: str, algorithm: AnyRecordAlgorithm, last: Record) -> Self:
        """Number the clusters by size; equal sizes keep the order of the algorithm."""
        return cls(study, algorithm, last, number_records(last, algorithm.n_clusters))

    @cached_property
    def labels(self) -> IntArray:
        """The number of each record's cluster."""
        return np.argsort(self.order)[labels_of(self.last)]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many records each cluster has, in the order of their numbers."""
        return tuple(np.bincount(self.labels, minlength=len(self.order)).tolist())

    @cached_property
    def memberships(self) -> FloatArray | None:
        """Memberships of records, with clusters in the order of their numbers; None for k-means."""
        weights = self.last.arrays().get("weights")
        if weights is None:
            return None
        root: FloatArray = weights[:, self.order] ** (1.0 / self.algorithm.parameter("fuzzifier"))
        return root


@dataclass(frozen=True, eq=False)
class AlignedRows:
    """A client's rows of the shared records, in their common order and on its own scale."""

    rows: IntArray  # positions in the client's file
    X: FloatArray
    preparation: Preparation

    def data(self, policy: Any, form: bytes = b"") -> Data:
        """The rows for plans, with the client's policy."""
        return Data(self.X, _NOTHING, policy=policy, form=form)


class ClientColumns:
    """One client's columns in a study over split columns."""

    def __init__(
        self,
        files: ClientFiles,
        columns: Sequence[Column],
        task: ColumnTask,
        secret: bytes,
        own: frozenset[str] = frozenset(),
    ) -> None:
        self.files, self.columns, self._task = files, tuple(columns), task
        self._secret, self._who = secret, f"client {files.name!r}"
        self._own = own  # columns whose bounds are the owner's, not the study's

    def check(self) -> tuple[list[Problem], RowCounts]:
        """Problems of the columns and the ids, and how many rows there are."""
        name, id = self.files.name, str(self.files.id)
        if not self.columns:
            return [Problem(name, "no-features")], RowCounts(0, 0)
        checked, counts = self.files.check(self.columns)
        problems = [problem for problem in checked if problem.column != id]
        if id not in self.files.names:
            problems.append(Problem(name, "id-missing", detail=f"no column {id!r}"))
            return problems, counts
        try:
            _ = self.ids
        except DataError as error:
            problems.append(Problem(name, "id-unusable", detail=str(error)))
        return problems, counts

    @property
    def width(self) -> int:
        """How many columns there are once categories have one each."""
        return sum(len(column.encoded_names) for column in self.columns)

    @property
    def in_unit_box(self) -> bool:
        """Whether all columns are scaled to an interval of length 1."""
        return self._task.scaling == "min-max"

    def used(self, counts: RowCounts) -> int:
        """How many rows are offered to the alignment."""
        return counts.rows if self._task.missing == "mean" else counts.complete

    @cached_property
    def ids(self) -> Ids:
        """The ids of all rows, in one spelling."""
        id = str(self.files.id)
        return read_ids(self.files.held(id), self.files.name, id)

    @cached_property
    def _encoded(self) -> FloatArray:
        encoded = self.files.encode(self.columns)
        if not isinstance(encoded, Data):
            raise DataError(f"{self._who}: all rows are needed in memory; leave out batch_rows")
        return encoded.X

    @cached_property
    def _offered(self) -> tuple[IntArray, Array]:
        """Rows that can take part, and their tokens, sorted by token.

        The order of the file could disclose something about the records.
        """
        complete: BoolArray = np.ones(len(self._encoded), dtype=bool)
        if self._task.missing == "drop":
            complete = np.asarray(~np.isnan(self._encoded).any(axis=1))
        rows, tokens = np.flatnonzero(complete), hash_ids(self.ids, self._secret)[complete]
        order = np.lexsort(tokens.T[::-1])
        return rows[order], tokens[order]

    @property
    def tokens(self) -> Array:
        """A keyed hash of the id of every row that can take part."""
        return self._offered[1]

    def align(self, shared: Array) -> AlignedRows:
        """The rows of the shared records, on the client's own scale."""
        rows, tokens = self._offered
        if shared.ndim != 2 or shared.shape[1:] != (2,) or shared.dtype != tokens.dtype:
            raise MessageError("shared records must be pairs of integers")
        if len(np.unique(shared, axis=0)) < len(shared):
            raise MessageError("a shared record is listed twice")
        try:
            positions = RecordAlignment().assign(shared, Data(tokens, _NOTHING))
        except KeyError:
            raise MessageError("this client did not offer one of the shared records") from None
        values = self._encoded[rows[positions]]
        ready = self._learn_preparation(values)
        filled = values if ready.fill is None else np.where(np.isnan(values), ready.fill, values)
        X = np.ascontiguousarray((filled - ready.offset) / ready.scale)
        Data.of(X, client=self._who, names=ready.names)
        return AlignedRows(rows[positions], X, ready)

    def _learn_preparation(self, shared: FloatArray) -> Preparation:
        """The scale of the client's columns, and what is filled in; it has all their values.

        Columns are always centred: distances do not depend on the mean, and the centre of an empty
        cluster, which is zero, is then the mean of the shared records.
        """
        by_encoded = [column for column in self.columns for _ in column.encoded_names]
        mean, scale, fill = np.zeros(len(by_encoded)), np.ones(len(by_encoded)), None
        if self._task.missing == "mean":
            fill = mean.copy()
        for p, column in enumerate(by_encoded):  # one by one, so that bits do not depend on others
            known = ~np.isnan(shared[:, p])
            if not known.any():
                raise DataError(
                    f"{self._who}: column {column.name!r} has no values among the shared records"
                )
            values = self._values_for_scale(p, shared[known, p])
            mean[p] = shared[known, p].mean()
            if fill is not None:
                fill[p] = values.mean()
                if fill[p] != mean[p]:
                    mean[p] = np.where(known, shared[:, p], fill[p]).mean()
            if not column.categories:
                scale[p] = self._spread(column, values)
        return Preparation(self.columns, mean, scale, fill)

    def _values_for_scale(self, p: int, shared: FloatArray) -> FloatArray:
        """The values of a column that its scale, and what is filled in, are learned from.

        Where distances are masked these are all values of the owner. The server chooses the shared
        records. If they changed the scale of one column, the difference of two sums of distances
        would be of that column alone.
        """
        if self._task.scaling != "min-max":
            return shared
        values = self._encoded[:, p]
        return values[~np.isnan(values)]

    def _spread(self, column: Column, values: FloatArray) -> float:
        """The length that becomes 1: the owner's own in every case.

        Bounds of the study do not scale. Wide ones would shrink this client's distances to zero,
        and masks would then hide nobody among them.
        """
        if self._task.scaling == "none":
            return 1.0
        if self._task.scaling == "min-max" and column.name in self._own and column.box is not None:
            return float(np.ptp(column.box))
        spread, mean = float(np.ptp(values)), float(values.mean())
        if self._task.scaling == "standard":
            spread = float(np.sqrt(np.mean((values - mean) ** 2)))
        if spread <= 1e-12 * max(abs(mean), 1e-300):  # constant up to rounding
            return 1.0
        if self._task.scaling == "standard":
            return spread
        return round_outwards(float(values.min()), float(values.max()))

    def described(self, ready: Preparation) -> dict[str, bytes]:
        """What decides the distances between this client's rows, as hashes by name."""
        what = [(c.name, c.log, c.derive, *c.categories) for c in self.columns]
        found = {"columns": digest(repr(what).encode(), ready.scale.tobytes())}
        if ready.fill is not None:
            found["filled values"] = digest(ready.fill.tobytes())
        return found

    def fingerprint(self, aligned: AlignedRows) -> str:
        """A digest that changes if the client's rows change.

        It includes the positions of the rows. Otherwise equal fingerprints would show that
        different records have equal values.
        """
        words = f"{aligned.X.shape} {aligned.preparation.names} {aligned.rows.tolist()}".encode()
        return hmac.new(self._secret, words + aligned.X.tobytes(), "sha256").hexdigest()

    def finish(
        self, aligned: AlignedRows, end: FinalAssignment, centers: Path, labels: Path | None
    ) -> None:
        """Write the client's part of the centres, and the clusters of its own rows."""
        part = end.algorithm.local_centers(end.last, aligned.X)[end.order]
        make_folder(centers.parent)
        write_text(centers, json.dumps(self._describe(aligned.preparation, end, part), indent=1))
        if labels is None:
            return
        id, n = str(self.files.id), len(self._encoded)
        columns: dict[str, Array] = {id: self.files.held(id)}
        columns["cluster"] = _place_values(end.labels, aligned.rows, n)
        shares = end.memberships
        if shares is not None:
            for c in range(len(end.order)):
                columns[f"membership_{c}"] = _place_values(shares[:, c], aligned.rows, n)
        write_columns(columns, labels, self._who)

    def _describe(
        self, ready: Preparation, end: FinalAssignment, part: FloatArray
    ) -> Mapping[str, Any]:
        rows = zip(end.sizes, part, ready.in_units(part), strict=True)
        return {
            "study": end.study,
            "owner": self.files.name,
            "algorithm": end.algorithm.key,
            "columns": ready.names,
            "preparation": ready.as_config(),
            "clusters": [
                {"id": c, "size": n, "center": own.tolist(), "center_in_units": units.tolist()}
                for c, (n, own, units) in enumerate(rows)
            ],
        }


def _place_values(values: Array, rows: IntArray, n: int) -> Array:
    """Values of the shared records in the order of the client's rows, masked elsewhere."""
    all_rows: Any = np.zeros(n, dtype=values.dtype)
    all_rows[rows] = values
    mask = np.ones(n, dtype=bool)
    mask[rows] = False
    return np.ma.MaskedArray(all_rows, mask=mask)
