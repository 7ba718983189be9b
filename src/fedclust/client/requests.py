"""Typed requests to a client, the forms of rows that they name, and typed replies.

A study in one process hands these objects to a `ClientSession`; across machines they travel as
frames (`fedclust.client.codec`). Both ways lead to the same session.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..clustering.model import Model
from ..clustering.preparation import Column, Preparation, encoded_schema
from ..core import Message, Plan, Record, Request, Schema
from ..typing import Array
from .files import RowCounts
from .problems import Problem

if TYPE_CHECKING:  # few studies split columns
    from ..clustering.columns import AnyRecordAlgorithm


@dataclass(frozen=True)
class Caller:
    """On whose behalf a request is made."""

    study: str
    author: str = ""
    run: str = ""  # marks the requests of one run


class RowForm:
    """Which of a client's rows a plan gets, and in which form."""

    def as_config(self) -> dict[str, Any]:
        """Plain values, for a request."""
        raise NotImplementedError

    @cached_property
    def key(self) -> bytes:
        """The form in canonical bytes: part of every query's identity."""
        return json.dumps(self.as_config(), sort_keys=True).encode()

    @cached_property
    def plain(self) -> Any:
        """The form as it arrives in a request."""
        return json.loads(self.key)


@dataclass(frozen=True, eq=False)
class EncodedRows(RowForm):
    """Columns as numbers, missing values included."""

    columns: tuple[Column, ...]
    partial: bool = False  # a column that the client does not have is missing in every row

    def as_config(self) -> dict[str, Any]:
        partial = {"partial": True} if self.partial else {}
        return {"columns": [column.as_config() for column in self.columns], **partial}

    @cached_property
    def schema(self) -> Schema:
        """The shape of such rows, with public bounds if every column has them."""
        return encoded_schema(self.columns)


@dataclass(frozen=True, eq=False)
class PreparedRows(RowForm):
    """Rows as they are clustered: encoded and scaled; missing cells only if these are taken."""

    preparation: Preparation

    @property
    def partial(self) -> bool:
        """Whether rows may have missing cells."""
        return self.preparation.partial

    def as_config(self) -> dict[str, Any]:
        return {"preparation": self.preparation.as_config()}

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are read."""
        return self.preparation.columns

    @cached_property
    def schema(self) -> Schema:
        """The shape of such rows, with public bounds if every column has them."""
        return self.preparation.schema()


@dataclass(frozen=True)
class ColumnTask:
    """What a study over split columns requests; the same for every client."""

    columns: tuple[Column, ...] | None  # a client uses those it has; None: all numeric ones
    scaling: str
    missing: str

    def as_config(self) -> dict[str, Any]:
        """Plain values, for a request."""
        columns = None if self.columns is None else [column.as_config() for column in self.columns]
        return {"columns": columns, "scaling": self.scaling, "missing": self.missing}

    @cached_property
    def key(self) -> bytes:
        """The task in canonical bytes."""
        return json.dumps(self.as_config(), sort_keys=True).encode()


@dataclass(frozen=True, eq=False)
class RecordTokens(RowForm):
    """Keyed hashes of a client's record ids."""

    task: ColumnTask

    def as_config(self) -> dict[str, Any]:
        return {"task": self.task.as_config()}


@dataclass(frozen=True, eq=False)
class SharedRecords(RowForm):
    """A client's columns of the records that all clients share."""

    task: ColumnTask
    records: str  # digest of the shared records

    def as_config(self) -> dict[str, Any]:
        return {"task": self.task.as_config(), "records": self.records}


@dataclass(frozen=True, eq=False)
class Preflight:
    """Check the client's data; without columns, list its numeric ones."""

    columns: tuple[Column, ...] | None
    algorithm: str  # its key; it is checked against client.toml before anything is read
    counts: bool = False  # whether row counts and warnings are wanted
    needs_memory: str = ""  # what needs all rows in memory, if anything does
    partial: bool = False  # whether rows may have missing cells, and clients lack columns

    @property
    def key(self) -> bytes:
        """The identity of the query: the columns, and whether counts are wanted."""
        columns = None if self.columns is None else [column.as_config() for column in self.columns]
        partial = [True] if self.partial else []
        return json.dumps([columns, self.counts, *partial]).encode()


@dataclass(frozen=True, eq=False)
class RunRound:
    """One round of a plan."""

    plan: Plan
    request: Request
    rows: RowForm


@dataclass(frozen=True, eq=False)
class WriteLabels:
    """Label the client's own rows; the labels stay there."""

    model: Model

    @property
    def key(self) -> bytes:
        """The identity of the request: the centres, and how rows are prepared for them."""
        preparation = json.dumps(self.model.preparation.as_config()).encode()
        return preparation + self.model.centers.tobytes()


@dataclass(frozen=True, eq=False)
class OfferRecords:
    """Report how many records and columns can take part, and problems with them."""

    task: ColumnTask


@dataclass(frozen=True, eq=False)
class AlignRecords:
    """Find the client's rows of the shared records, and keep them for the rounds to come."""

    task: ColumnTask
    shared: Array  # (N, 2) tokens, in the order that all clients use


@dataclass(frozen=True, eq=False)
class FinishColumns:
    """Write the client's part of the centres, and labels of its own rows."""

    rows: SharedRecords
    algorithm: "AnyRecordAlgorithm"
    last: Record  # the assignment that makes the final centres
    labels: bool = True


AnyRequest = Preflight | RunRound | WriteLabels | OfferRecords | AlignRecords | FinishColumns


@dataclass(frozen=True, eq=False)
class PreflightReport:
    """What a client reports of its data."""

    problems: tuple[Problem, ...]
    counts: RowCounts | None = None  # None: not wanted, or the client's tier hides them
    numbers: tuple[str, ...] = ()  # names of numeric columns, if no columns were given


@dataclass(frozen=True, eq=False)
class RecordsOffer:
    """What a client over split columns reports: counts, no names."""

    problems: tuple[Problem, ...]
    records: int
    width: int  # columns, once every category has one
    counts: RowCounts | None = None  # private: all rows
    columns: tuple[Column, ...] = ()  # private


@dataclass(frozen=True, eq=False)
class Alignment:
    """Confirmation that a client found its rows of the shared records."""

    records: int
    fingerprint: str  # changes if the client's rows do


@dataclass(frozen=True, eq=False)
class Written:
    """Confirmation that a client wrote its files."""

    file: str  # its name
    path: Path | None = None  # private: where it is


AnyReply = Message | PreflightReport | RecordsOffer | Alignment | Written
