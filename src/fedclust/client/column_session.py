"""A client's part in studies over split columns.

It keeps its rows of the shared records in memory, under the digest of these records; rounds name
that digest. A process that was restarted has no aligned rows and refuses rounds; a job that is
submitted again aligns again before it continues.
"""

import hashlib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..algorithms import VERTICAL, VERTICAL_SEEDINGS
from ..algorithms.record_alignment import RecordAlignment
from ..algorithms.records import check_assignment
from ..clustering.columns import labels_of
from ..core import Code, Data, DataError, MessageError, Plan, Refusal, Request, Schema, Stage
from ..data.ids import Ids
from ..privacy import ClientPolicy
from ..privacy.key_exchange import KeyExchange
from ..typing import Array
from .admission import Admission
from .files import ClientFiles
from .requests import (
    Alignment,
    AlignRecords,
    ColumnTask,
    FinishColumns,
    OfferRecords,
    RecordsOffer,
    RecordTokens,
    RowForm,
    SharedRecords,
    Written,
)
from .vertical import AlignedRows, ClientColumns, FinalAssignment, select_columns, set_bounds

_LEAST_VARIATION = 1e-6  # of a scaled column, which goes from 0 to 1


def digest_of(shared: Array) -> str:
    """The digest that later messages use to refer to the shared records."""
    return hashlib.sha256(repr(shared.shape).encode() + shared.tobytes()).hexdigest()


def centers_beside(labels: Path) -> Path:
    """The file for a client's part of the centres."""
    return labels.with_name(f"{labels.stem}.centers.json")


class ColumnSession:
    """The requests of a `ClientSession` that are about split columns."""

    def __init__(
        self,
        name: str,
        secret: bytes,
        open_files: Callable[[], ClientFiles],
        policy: ClientPolicy,
        admission: Admission,
        bounds: Mapping[str, tuple[float, float]],
    ) -> None:
        self._name, self._secret, self._policy, self._admission = name, secret, policy, admission
        self._bounds = bounds
        self._open_files = open_files
        self._current: tuple[ColumnTask, ClientColumns] | None = None
        self._kept: tuple[ClientColumns, str, AlignedRows] | None = None

    @cached_property
    def _files(self) -> ClientFiles:
        return self._open_files()

    def offer(self, request: OfferRecords) -> RecordsOffer:
        """Report counts of rows and columns, and problems, without names or values."""
        columns = self._columns_of(request.task)
        problems, counts = columns.check()
        used = columns.used(counts)
        return RecordsOffer(tuple(problems), used, columns.width, counts, columns.columns)

    def align(self, request: AlignRecords) -> Alignment:
        """Find the rows of the shared records, and keep them for the rounds to come."""
        shared, columns = request.shared, self._columns_of(request.task)
        self._admission.record_query("align", digest_of(shared).encode())
        if any(problem.blocking for problem in columns.check()[0]):
            raise DataError("preflight reported blocking problems; alignment refused")
        mine = columns.align(shared)
        self._admission.allow_shared(len(shared), len(columns.tokens))
        self._kept = columns, digest_of(shared), mine
        return Alignment(len(mine.rows), columns.fingerprint(mine))

    def admit_round(self, plan: Plan, request: Request, form: RowForm, answered: int) -> Data:
        """The rows that a plan may use: tokens for an alignment, aligned rows for distances.

        An alignment of rows, or distances of tokens, would disclose them.
        """
        self._admission.allow_vertical(plan.algorithm, answered)
        kind = type(plan.algorithm)
        rows = self.rows(form)
        if isinstance(form, RecordTokens):
            if kind is not RecordAlignment or plan.transforms:
                raise Refusal(f"{plan.algorithm.key} cannot run before records are aligned")
            return rows
        if kind not in (KeyExchange, *VERTICAL.values(), *VERTICAL_SEEDINGS.values()):
            raise Refusal(f"{plan.algorithm.key} does not run over split columns")
        schema, down = Schema(rows.shape[1], n_records=len(rows)), request.down
        if plan.algorithm.traits.reads_rows:
            records = cast(SharedRecords, form)
            columns = self._columns_of(records.task)
            self._admission.allow_vertical_transforms(plan, schema, columns.in_unit_box)
            if any(t.stage is Stage.MASK for t in plan.transforms):
                _require_variation(rows)
                settled = columns.described(self._aligned(records).preparation)
                self._policy.ledger.settle(settled, what=plan.algorithm.key)
        down.check(plan.algorithm.sizes(schema))
        self._admission.allow_vertical_drawn(len(down.arrays().get("drawn", ())))
        return rows

    def ids(self, task: ColumnTask) -> Ids:
        """The ids of all rows, in one spelling; they never leave."""
        return self._columns_of(task).ids

    def rows(self, form: RowForm) -> Data:
        """The tokens or the aligned rows that a form names."""
        if isinstance(form, RecordTokens):  # hashes, not values
            tokens: Any = self._columns_of(form.task).tokens
            return Data(tokens, np.empty(0), policy=self._policy)
        if isinstance(form, SharedRecords):
            return self._aligned(form).data(self._policy, form.key)
        raise Refusal("this request is about split rows", code=Code.REQUEST)

    def _aligned(self, form: SharedRecords) -> AlignedRows:
        """The aligned rows in memory, if they belong to these records and this task."""
        columns = self._columns_of(form.task)
        if self._kept is None or self._kept[:2] != (columns, form.records):
            raise Refusal("no aligned records in this process; resubmit the job", code=Code.STATE)
        return self._kept[2]

    def finish(self, request: FinishColumns, study: str, target: Path) -> Written:
        """Write the client's part of the centres, and labels of its own rows; they stay here."""
        algorithm, last = request.algorithm, request.last
        mine = self._aligned(request.rows)
        self._admission.allow_vertical(algorithm, 0)
        last.check({"N": len(mine.rows), "C": algorithm.n_clusters})
        if not last.is_finite():
            raise MessageError("the final assignment has values that are not finite")
        check_assignment(labels_of(last), 0, algorithm.n_clusters, len(mine.rows))
        end = FinalAssignment.of(study, algorithm, last)
        labels = target if request.labels else None
        centers = centers_beside(target)
        self._columns_of(request.rows.task).finish(mine, end, centers, labels)
        written = labels or centers
        return Written(written.name, written)

    def _columns_of(self, task: ColumnTask) -> ClientColumns:
        """The client's columns for a task; files are read once."""
        if self._current is None or self._current[0] != task:
            self._admission.record_query(
                "offer", task.key
            )  # the offered ids show which rows are complete
            columns = select_columns(task, self._files)
            if task.columns is None:
                names = self._admission.select_columns([column.name for column in columns])
                columns = tuple(column for column in columns if column.name in names)
            self._admission.allow_vertical_columns(columns)
            columns = set_bounds(columns, self._bounds)
            self._admission.record_descriptions(columns)
            own = frozenset(self._bounds)
            self._current = task, ClientColumns(self._files, columns, task, self._secret, own)
        return self._current[1]


def _require_variation(rows: Data) -> None:
    """Refuse to hide others among distances that are all zero."""
    if not rows.X.size or np.ptp(rows.X, axis=0).max() < _LEAST_VARIATION:
        raise Refusal("its columns do not vary, so its distances hide nobody's")
