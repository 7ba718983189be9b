"""An owner of columns across the network: what it answers, and what it never does.

An owner keeps its rows of the shared records in memory, under the digest of these records; rounds
name that digest. A process that was started anew has none, and says so: a job that is submitted
again aligns again before it goes on.
"""

import hashlib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ..algorithms import VERTICAL, VERTICAL_SEEDINGS
from ..algorithms.record_alignment import RecordAlignment
from ..algorithms.records import check_assignment
from ..algorithms.registry import build_plan
from ..clustering.alignment import MIN_OVERLAP
from ..clustering.preparation import Column
from ..core import AnyAlgorithm, Data, DataError, MessageError, Plan, Record, Refusal, Schema
from ..core.envelope import decode_request, table
from ..core.wire import Frame
from ..data.ids import secret_bytes
from ..privacy import ClientPolicy, FixedPoint, PairwiseMasks
from ..privacy.crypto import digest
from ..privacy.key_exchange import KeyExchange
from ..study.pool.local_columns import centers_beside, tokens_as_data
from ..study.split import KEYS
from ..tiers import tier_of
from ..typing import Array
from .config import ClientConfig
from .consent import Refused, allow_descriptions, demanded
from .files import ClientFiles, Problem
from .requests import ALIGN, OFFER, OWNED, SHARED
from .vertical import Aligned, Ending, Owner, Wanted, labels_in

_FEWEST = 10  # records that an alignment must have: of fewer, distances are values
_DRAWN = 16  # records that a start may be drawn from in a round, at least
_log = logging.getLogger(__name__)


def digest_of(shared: Array) -> str:
    """What names the shared records in later messages."""
    return hashlib.sha256(repr(shared.shape).encode() + shared.tobytes()).hexdigest()


def owners_secret(file: ClientConfig) -> bytes:
    """What owners share, once this one has agreed to take part at all."""
    if not file.consent.split_columns:
        raise Refused("client.toml does not allow studies over split columns (split_columns)")
    id, secret = file.data.id, file.data.secret
    if id is None or secret is None:
        key = "id" if id is None else "secret"
        raise Refused(f"client.toml has no {key} under [data], by which records are found")
    if file.data.batch_rows:
        raise Refused("client.toml: split columns need all rows in memory: leave out batch_rows")
    return secret_bytes(secret)


class ColumnsSite:
    """One owner's side of every study over split columns."""

    def __init__(self, file: ClientConfig, name: str, policy: ClientPolicy) -> None:
        self._file, self._name, self._gate = file, name, policy
        self._owner: tuple[Wanted, Owner] | None = None
        self._kept: tuple[Owner, str, Aligned] | None = None

    @cached_property
    def _secret(self) -> bytes:
        return owners_secret(self._file)

    def offer(self, frame: Frame, entry: dict[str, Any]) -> dict[str, Any]:
        """How many rows and columns there are, and what is wrong: no name, no value."""
        owner = self._asked(frame.header.get(OWNED))
        problems, counted = owner.look()
        for one in problems:
            level = logging.ERROR if one.stops else logging.WARNING
            _log.log(level, "%s %s", one.column, one.what)
        told = {
            "offered": owner.used(counted),
            "columns": owner.width,
            "problems": [[_without_names(one), one.stops] for one in problems],
        }
        entry["what"] = {name: told[name] for name in ("offered", "columns")}
        return told

    def align(self, frame: Frame, entry: dict[str, Any]) -> dict[str, Any]:
        """Find the rows of the shared records, and keep them for the rounds to come."""
        shared = frame.arrays.get(SHARED)
        if shared is None:
            raise MessageError("there are no shared records in the request")
        owner = self._asked(frame.header.get(OWNED))
        most = self._file.consent.max_queries
        named = digest_of(shared).encode()
        self._gate.ledger.record_query(digest(ALIGN.encode(), named), what=ALIGN, most=most)
        if any(problem.stops for problem in owner.look()[0]):
            raise DataError("what stops a study also stops whoever goes on without having looked")
        mine = owner.aligned(shared)
        if len(shared) < max(_FEWEST, MIN_OVERLAP * len(owner.tokens)):
            raise Refused(f"{len(shared)} shared records are too few to hide among")
        self._kept = owner, digest_of(shared), mine
        entry["what"] = {"records": len(mine.rows)}
        return {"records": len(mine.rows), "fingerprint": owner.fingerprint(mine)}

    def rows(self, plan: Plan, down: Record, data: Mapping[str, Any], answered: int) -> Data:
        """The rows that a plan may see, which are of one kind for each kind of plan.

        Tokens for an alignment and rows for distances: the other way round either would leave.
        """
        owner, kind = self._asked(data.get(OWNED)), type(plan.algorithm)
        self._allow(plan.algorithm, answered)
        if SHARED not in data:
            if kind is not RecordAlignment or plan.transforms:
                raise Refused(f"{plan.algorithm.key} is not answered before records are aligned")
            return tokens_as_data(owner)
        if kind not in (KeyExchange, *VERTICAL.values(), *VERTICAL_SEEDINGS.values()):
            raise Refused(f"{plan.algorithm.key} is not answered over split columns")
        form = json.dumps([data.get(OWNED), data.get(SHARED)], sort_keys=True).encode()
        found = self._aligned(owner, data).data(self._gate, form)
        schema = Schema(found.shape[1], n_records=len(found))
        if plan.algorithm.traits.reads_rows:
            self._allow_transforms(plan, owner, schema)
        down.check(plan.algorithm.sizes(schema))
        drawn = down.arrays().get("drawn", ())
        if len(drawn) > max(_DRAWN, self._file.consent.max_clusters):
            raise Refused(f"distances to {len(drawn)} records at once are too many")
        return found

    def _allow_transforms(self, plan: Plan, owner: Owner, schema: Schema) -> None:
        """Refuse plans in the open if masks are demanded, and grids that distances may not fit."""
        if lacking := demanded(self._file).missing_protection(plan, schema):
            raise Refused(f"{plan.algorithm.key} came without {lacking}, which client.toml demands")
        for grid in plan.transforms:
            if isinstance(grid, FixedPoint):
                unit = set(grid.low) == {0.0} and set(grid.high) == {1.0}
                if not unit or len(grid.low) < schema.n_features or not owner.in_unit_box:
                    raise Refused("whole numbers are for columns from 0 to 1, all owners' together")
            elif not isinstance(grid, PairwiseMasks):
                raise Refused(f"{type(grid).__name__} has no meaning over split columns")

    def _aligned(self, owner: Owner, data: Mapping[str, Any]) -> Aligned:
        """The rows that are kept, if they were made of these records and as is wanted now."""
        if self._kept is None or self._kept[:2] != (owner, data.get(SHARED)):
            raise Refused("this process was not told the shared records: submit the job again")
        return self._kept[2]

    def finish(self, frame: Frame, entry: dict[str, Any], target: Path) -> dict[str, Any]:
        """Write the owner's part of the centres, and labels of its own rows; they stay here."""
        asked = decode_request(frame, build_plan)
        data, last = table({"data": asked.data}, "data"), asked.request.down
        algorithm: Any = asked.plan.algorithm
        if type(algorithm) not in VERTICAL.values():
            raise Refused(f"{algorithm.key} does not end a study over split columns")
        owner = self._asked(data.get(OWNED))
        mine = self._aligned(owner, data)
        self._allow(algorithm, 0)
        last.check({"N": len(mine.rows), "C": algorithm.n_clusters})
        if not last.is_finite():
            raise MessageError("the last assignment is not of finite numbers")
        check_assignment(labels_in(last), 0, algorithm.n_clusters, len(mine.rows))
        end = Ending.of(entry["study"], algorithm, last)
        labels = target if frame.header.get("labels", True) else None
        owner.finish(mine, end, centers_beside(target), labels)
        entry |= {"what": {}, "wrote": (labels or centers_beside(target)).name}
        return {"labels": "written"}

    def _allow(self, algorithm: AnyAlgorithm, answered: int) -> None:
        """Refuse algorithms, settings and tiers beyond what client.toml allows."""
        consent = self._file.consent
        listed = [KEYS[key] for key in consent.algorithms if key in KEYS]
        if consent.algorithms and algorithm.key in VERTICAL and algorithm.key not in listed:
            raise Refused(f"client.toml does not list {algorithm.key!r} under algorithms")
        if answered >= consent.max_rounds:
            raise Refused(f"client.toml allows max_rounds = {consent.max_rounds}")
        n_clusters, most = vars(algorithm).get("n_clusters", 0), consent.max_clusters
        if n_clusters > most:
            raise Refused(f"n_clusters = {n_clusters}, client.toml allows max_clusters = {most}")
        tier = consent.privacy
        if tier_of(tier).for_columns() is None:
            raise Refused(
                f'client.toml demands privacy = "{tier}", which studies over split columns cannot '
                "give"
            )

    def _asked(self, given: Any) -> Owner:
        """The owner as a study sees it; what it reads is read once."""
        secret, wanted = self._secret, _wanted(given)
        if self._owner is None or self._owner[0] != wanted:
            self._count(wanted)
            data = self._file.data
            files = ClientFiles(
                self._name, self._file.files(), na_values=data.na_values, id=data.id, batch_rows=0
            )
            allowed = self._file.consent.columns
            columns = wanted.of(files)
            if allowed and wanted.columns is None:
                columns = tuple(column for column in columns if column.name in allowed)
            for column in columns:
                if allowed and column.name not in allowed:
                    _log.error("client.toml does not allow the column %r", column.name)
                    raise Refused("client.toml does not allow a column that the study wants")
            self._describe(columns)
            self._owner = wanted, Owner(files, columns, wanted, secret)
        return self._owner[1]

    def _count(self, wanted: Wanted) -> None:
        """Enter what is wanted in the ledger: which ids are offered tells where gaps are."""
        words = json.dumps(wanted.as_config(), sort_keys=True).encode()
        most = self._file.consent.max_queries
        self._gate.ledger.record_query(digest(OFFER.encode(), words), what=OFFER, most=most)

    def _describe(self, columns: Sequence[Column]) -> None:
        """Refuse yet other bounds or categories, without the name of the column."""
        try:
            allow_descriptions(self._file, self._gate.ledger, columns)
        except Refusal as problem:
            _log.error("%s", problem)
            most = self._file.consent.max_descriptions
            raise Refused(
                f"a column was asked with {most} different bounds or categories"
            ) from None


def _wanted(given: Any) -> Wanted:
    try:
        return Wanted.from_config(given)
    except (TypeError, KeyError, ValueError, AttributeError):
        raise MessageError("what is wanted of owners is not readable") from None


def _without_names(problem: Problem) -> str:
    """As others may hear it: values and counts stand behind a colon or in brackets."""
    if not problem.column:
        return "its own log says what"
    return f"one of its columns {re.split(r':| [(]', problem.what)[0]}"
