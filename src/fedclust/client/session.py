"""The client session: everything that one client does for a study, beside its rows.

A study in one process and a study across machines call the same session. What it may answer is
decided in one order, which `fedclust.client.admission` describes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..clustering.preparation import Column, limit_bounds
from ..core import Batches, Code, ConfigError, Data, DataError, Message, Refusal, respond
from ..core.device import put_rows
from ..core.loop import can_stream
from ..privacy import ClientPolicy
from ..privacy.grouped_rows import FixedGroups, group_size
from .admission import NO_CONSENT_NEEDED, Admission
from .files import ClientFiles
from .problems import Problem
from .requests import (
    AlignRecords,
    AnyReply,
    AnyRequest,
    Caller,
    EncodedRows,
    FinishColumns,
    OfferRecords,
    Preflight,
    PreflightReport,
    PreparedRows,
    RecordsOffer,
    RowForm,
    RunRound,
    WriteLabels,
    Written,
)

if TYPE_CHECKING:
    from .column_session import ColumnSession

_KEPT_FORMS = 2  # the encoded columns, and the prepared rows


def _no_secret() -> bytes:
    raise Refusal("this client has no secret to align records with", code=Code.CONSENT)


def _no_labels(caller: Caller) -> Path:
    raise Refusal("this client does not write labels", code=Code.CONSENT)


@dataclass(eq=False)
class ClientSession:
    """One client: its files, its policy, what it admits, and where its results go."""

    name: str
    open_files: Callable[[bool], ClientFiles]  # with True all rows are read into memory
    policy: ClientPolicy
    admission: Admission = NO_CONSENT_NEEDED
    labels_path: Callable[[Caller], Path] = _no_labels
    secret: Callable[[], bytes] = _no_secret  # shared by clients over split columns
    answered: int = 0  # rounds of this job, those of earlier processes included
    # Low and high of columns, by which the client scales them where columns are split, and beyond
    # which no value counts where the study estimates bounds.
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    device: str = "auto"  # where the steps over the rows run
    _forms: dict[tuple[bytes, int], Data | Batches] = field(default_factory=dict)

    def handle(self, request: AnyRequest, caller: Caller) -> AnyReply:
        """Answer a request, or raise a refusal."""
        self.admission.allow_caller(caller)
        match request:
            case RunRound():
                return self._run_round(request)
            case Preflight():
                return self._check_data(request)
            case WriteLabels():
                return self._write_labels(request, caller)
            case OfferRecords():
                return self._offer_records(request)
            case AlignRecords():
                return self.columns.align(request)
            case FinishColumns():
                return self.columns.finish(request, caller.study, self.labels_path(caller))

    def rows(self, form: RowForm, group_size: int = 0) -> Data | Batches:
        """The rows in a form, read once and kept for the rounds to come."""
        if not isinstance(form, EncodedRows | PreparedRows):
            return self.columns.rows(form)
        key = (form.key, group_size)
        if key not in self._forms:
            while len(self._forms) >= _KEPT_FORMS:
                del self._forms[next(iter(self._forms))]
            self._forms[key] = self._make_rows(form, group_size)
        return self._forms[key]

    def _make_rows(self, form: EncodedRows | PreparedRows, group_size: int) -> Data | Batches:
        self.admission.record_descriptions(form.columns)
        files = self.files
        columns = self._limit(form.columns)
        problems, _ = files.check(form.columns, form.partial)
        if blocking := [problem for problem in problems if problem.blocking]:
            raise DataError(str(blocking[0]))
        groups = self._fix_groups(form.columns, group_size) if group_size else None
        if isinstance(form, PreparedRows):
            rows = files.prepare(replace(form.preparation, columns=columns), groups)
        else:
            rows = files.encode(columns, groups, may_lack=form.partial)
        rows = replace(rows, policy=self.policy, form=form.key, grouped=group_size)
        return put_rows(rows, self.device)

    def _limit(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Columns with estimated bounds that go no farther than those that the owner states."""
        try:
            return tuple(limit_bounds(column, self.bounds.get(column.name)) for column in columns)
        except ConfigError as problem:
            text = "[bounds] in client.toml does not fit a column of the study"
            raise Refusal(text, code=Code.CONSENT, private=str(problem)) from None

    def _fix_groups(self, columns: Sequence[Column], size: int) -> FixedGroups:
        """The groups that the rows of these columns are averaged in."""
        names = [column.name for column in columns]
        widths = [len(column.encoded_names) for column in columns]
        files = self.files
        return self.policy.groups.fix(
            names, widths, lambda: files.raw_columns(columns), size, standardize=True
        )

    @cached_property
    def files(self) -> ClientFiles:
        """The client's files, opened once; their paths stay here if they cannot be read."""
        return self._open(in_memory=False)

    def _open(self, *, in_memory: bool) -> ClientFiles:
        try:
            return self.open_files(in_memory)
        except (ConfigError, DataError) as error:
            text = "its data files cannot be read"
            raise Refusal(text, code=Code.FILES, private=str(error)) from None

    @cached_property
    def columns(self) -> "ColumnSession":
        """The requests that are about split columns."""
        from .column_session import ColumnSession  # few studies split columns

        return ColumnSession(
            self.name,
            self.secret(),
            lambda: self._open(in_memory=True),
            self.policy,
            self.admission,
            self.bounds,
        )

    def _run_round(self, request: RunRound) -> Message:
        plan, form = request.plan, request.rows
        self.admission.allow_cohort(request.request)
        if isinstance(form, EncodedRows | PreparedRows):
            self.admission.allow_round(plan, request.request, form, self.answered)
            rows = self.rows(form, group_size(plan.transforms))
        else:
            rows = self.columns.admit_round(plan, request.request, form, self.answered)
        if isinstance(rows, Batches) and not can_stream(plan.algorithm):
            raise Refusal(f"{plan.algorithm.key} needs all rows in memory; set batch_rows = 0")
        message = respond(plan, request.request, self.name, rows)
        self.answered += 1
        return message

    def _check_data(self, request: Preflight) -> PreflightReport:
        """Report problems and counts; every preflight is a query."""
        columns, admission = request.columns or (), self.admission
        admission.allow_preflight(request.algorithm, columns)
        admission.record_query("preflight", request.key)
        admission.record_descriptions(columns)
        try:
            files = self.files
        except Refusal as refusal:
            return PreflightReport((Problem(self.name, "unreadable", detail=refusal.private),))
        if request.columns is None:
            return PreflightReport((), numbers=tuple(admission.select_columns(files.numbers)))
        problems, counts = files.check(columns, request.partial)
        if files.in_batches and request.needs_memory:
            problems.append(Problem(self.name, "needs-memory", detail=request.needs_memory))
        if request.counts and not admission.counts_hidden:
            return PreflightReport(tuple(problems), counts)
        return PreflightReport(tuple(problem for problem in problems if problem.blocking))

    def _offer_records(self, request: OfferRecords) -> RecordsOffer:
        """Report counts and problems of columns; files that cannot be read are a problem, too."""
        columns = self.columns
        try:
            return columns.offer(request)
        except Refusal as refusal:
            if refusal.code != Code.FILES:
                raise
            problem = Problem(self.name, "unreadable", detail=refusal.private)
            return RecordsOffer((problem,), 0, 0)

    def _write_labels(self, request: WriteLabels, caller: Caller) -> Written:
        """Label the client's own rows; the file stays here."""
        model = request.model
        self.admission.allow_labels(model.preparation.columns, len(model.centers))
        self.admission.record_query("labels", caller.run.encode(), request.key)
        target = self.labels_path(caller)
        ready = replace(model.preparation, columns=self._limit(model.preparation.columns))
        self.files.write_labels(replace(model, preparation=ready), target)
        return Written(target.name, target)
