"""The ledger: the queries that a data set has answered, in a file that people can read.

One line of JSON per query, written and synced before the message leaves; no line is ever changed
or removed. Every query of the same rows counts: rounds, restarts, other numbers of clusters,
scores. Only an explicit reset starts the count again, and the reset is a line too.

What belongs together is entered in one transaction: the file is locked once, and either all of it
is written or, if anything is refused, nothing.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..core import Code, ConfigError, Refusal
from ..core.files import lock
from .cohorts import find_conflict

_SECONDS = len("2026-01-31T12:00:00")  # characters of a time, to the second
_NAMED = 20  # clients that a refusal names at most


class Ledger:
    """Queries of one data set; in memory only, unless it has a path."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._read = 0  # bytes of the file that were taken in
        self._queries: set[str] = set()
        self._cohorts: list[tuple[str, ...]] = []
        self._sent_to: dict[str, tuple[str, ...]] = {}
        self._described: dict[str, set[str]] = {}
        self.grouped: set[str] = set()  # columns whose rows have been assigned to groups
        self._settled: dict[str, str] = {}  # what decides masked distances, as a hash by name
        self.resets, self._reset_at = 0, ""
        self.spent = 0.0  # sum of squares of Gaussian privacy parameters
        self._paid: set[str] = set()  # draws of noise
        self.refresh()

    def refresh(self) -> None:
        """Take in what other processes wrote; complete lines never change, so no lock is needed."""
        if self.path is not None and self.path.exists():
            with open(self.path, "rb") as file:
                self._catch_up(file)

    @property
    def n_queries(self) -> int:
        """Different queries answered since the last reset."""
        return len(self._queries)

    def reset_since(self, when: str) -> bool:
        """Whether the owner has reset it at that time or later; times are UTC in ISO format."""
        return bool(self._reset_at) and self._reset_at[:_SECONDS] >= when[:_SECONDS]

    @contextmanager
    def transaction(self) -> Iterator["Transaction"]:
        """Entries that are written together, under one lock, if none of them is refused."""
        with self._open() as file:
            self._catch_up(file)
            if file is not None:
                file.truncate(self._read)  # no message followed an incomplete last line
            entries = Transaction(self)
            yield entries
            self._write(file, entries.pending)

    def has_described(self, column: str, words: str) -> bool:
        """Whether a column was described with these bounds or categories before."""
        return words in self._described.get(column, ())

    def can_describe(self, column: str, words: str, *, most: int) -> bool:
        """Whether a column may have these bounds or categories."""
        known = self._described.get(column, set())
        return words in known or len(known) < most

    def record_query(self, query: bytes, *, what: str, most: int | None = None) -> None:
        """Count one query in a transaction of its own."""
        with self.transaction() as entries:
            entries.record_query(query, what=what, most=most)

    def spend(self, cost: float, *, what: str, budget: float | None = None, draw: str = "") -> None:
        """Pay for noise in a transaction of its own."""
        if draw not in self._paid:
            with self.transaction() as entries:
                entries.spend(cost, what=what, budget=budget, draw=draw)

    def settle(self, hashes: Mapping[str, bytes], *, what: str) -> None:
        """Note what decides the masked distances of this data set, once, or refuse another."""
        if any(self._settled.get(name) != hash.hex()[:32] for name, hash in hashes.items()):
            with self.transaction() as entries:
                for name, hash in hashes.items():
                    entries.settle(name, hash, what=what)

    @property
    def memory(self) -> Path | None:
        """Beside the ledger: which rows are averaged together."""
        return None if self.path is None else self.path.with_suffix(".groups.npz")

    def reset(self, why: str) -> None:
        """Start the count again, and forget the groups of rows; for other data, say."""
        if not why.strip():
            raise ConfigError("reset: give a reason; it is written down")
        with self.transaction() as entries:
            entries.pending.append({"event": "reset", "why": why})
            if self.memory is not None:
                self.memory.unlink(missing_ok=True)

    def _apply(self, entry: Any) -> None:
        if entry["event"] == "reset":
            self._queries, self.spent, self._paid = set(), 0.0, set()
            self._cohorts, self._sent_to, self._described = [], {}, {}
            self.grouped, self._settled, self.resets = set(), {}, self.resets + 1
            self._reset_at = str(entry.get("time", ""))
        elif entry["event"] == "column":
            self._described.setdefault(entry["column"], set()).add(entry["words"])
        elif entry["event"] == "groups":
            self.grouped.update(entry["columns"])
        elif entry["event"] == "distances":
            self._settled.setdefault(entry["name"], entry["hash"])
        elif entry["event"] == "cohort":
            members = tuple(entry["members"])
            if members not in self._cohorts:
                self._cohorts.append(members)
            self._sent_to.setdefault(entry["sent"], members)
        elif entry["event"] == "noise":
            self.spent += float(entry["cost"])
            self._paid.update(filter(None, [entry.get("draw")]))
        else:
            self._queries.add(entry["query"])

    def _write(self, file: IO[bytes] | None, entries: list[dict[str, Any]]) -> None:
        if not entries:
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        entries = [{"time": now, **entry} for entry in entries]
        if file is not None:
            file.seek(0, os.SEEK_END)
            file.write(b"".join(json.dumps(entry).encode() + b"\n" for entry in entries))
            file.flush()
            os.fsync(file.fileno())
            self._read = file.tell()
        for entry in entries:
            self._apply(entry)

    def _catch_up(self, file: IO[bytes] | None) -> None:
        """Take in complete lines that other processes wrote."""
        if file is None:
            return
        file.seek(self._read)
        text = file.read()
        complete = text[: text.rfind(b"\n") + 1]
        for number, line in enumerate(complete.splitlines()):
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise ConfigError(
                    f"{self.path}: line {number + 1}: not a valid ledger entry; the file was "
                    "damaged or edited. Keep it, and start another with a reset"
                ) from None
        self._read += len(complete)

    @contextmanager
    def _open(self) -> Iterator[IO[bytes] | None]:
        if self.path is None:
            yield None
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b") as file:
            lock(file)
            yield file


class Transaction:
    """Entries that are pending until all of them are admitted."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.pending: list[dict[str, Any]] = []

    def record_query(self, query: bytes, *, what: str, most: int | None = None) -> None:
        """Count a query, or refuse; the same query again is free."""
        ledger, name = self._ledger, query.hex()[:32]
        if name in ledger._queries:
            return
        if most is not None and ledger.n_queries >= most:
            raise self._refusal(
                f"{what}: this data set has answered {ledger.n_queries} queries, and the query "
                f"limit is {most} (max_queries of the study or of this client)",
                Code.LIMIT,
            )
        self.pending.append({"event": "query", "query": name, "what": what})

    def join(
        self, cohort: tuple[str, ...], sent: bytes, *, what: str, least: int, steady: bool = False
    ) -> None:
        """Note the cohort that hides a sum, or refuse: sums of two cohorts give the difference.

        With `steady` the same broadcast is answered in one cohort only: the noise of a client that
        left would be missing.
        """
        ledger, members, name = self._ledger, tuple(sorted(cohort)), sent.hex()[:32]
        if conflict := find_conflict(members, ledger._cohorts, least):
            raise self._refusal(
                f"{what}: a total over these clients is refused, because {conflict}"
                + _advise(ledger._cohorts),
                Code.COHORT,
            )
        if steady and (known := ledger._sent_to.get(name, members)) != members:
            raise self._refusal(
                f"{what}: the same broadcast was answered in another cohort{_advise([known])}",
                Code.COHORT,
            )
        if members not in ledger._cohorts or (steady and name not in ledger._sent_to):
            self.pending.append({"event": "cohort", "members": list(members), "sent": name})

    def describe(self, column: str, words: str, *, most: int) -> None:
        """Note the bounds or categories given for a column, or refuse beyond a few.

        Every reply tells whether the values fit the bounds, so many bounds would give a value.
        """
        if self._ledger.has_described(column, words):
            return
        if not self._ledger.can_describe(column, words, most=most):
            raise self._refusal(
                f"a column was described with {most} different bounds or categories, and every "
                "description tells whether its values fit",
                Code.LIMIT,
                f"column {column!r}",
            )
        self.pending.append({"event": "column", "column": column, "words": words})

    def fix_groups(self, columns: list[str]) -> None:
        """Note that the rows of these columns have been assigned to groups, for good."""
        self.pending.append({"event": "groups", "columns": columns})

    def settle(self, name: str, hash: bytes, *, what: str) -> None:
        """Note a hash of what decides distances, or refuse another: sums would differ by it."""
        known, wanted = self._ledger._settled.get(name), hash.hex()[:32]
        if known is None:
            self.pending.append({"event": "distances", "name": name, "hash": wanted})
        elif known != wanted:
            raise self._refusal(
                f"{what}: an earlier study was about other columns of this client, or about these "
                "on another scale; the difference of the two sums of distances would be its own",
                detail=f"its {name} have changed, or its values, or [bounds] in client.toml",
            )

    def spend(self, cost: float, *, what: str, budget: float | None = None, draw: str = "") -> None:
        """Pay for noise with a square of mu, or refuse; the draw with this id is paid for once."""
        spent = self._ledger.spent
        if draw in self._ledger._paid:
            return
        if budget is not None and spent + cost > budget * (1 + 1e-9):
            raise self._refusal(
                f"{what}: the privacy budget is spent ({spent:.3g} of {budget:.3g}, and this "
                f"query costs {cost:.3g})",
                Code.LIMIT,
            )
        entry = {"event": "noise", "cost": cost, "what": what}
        self.pending.append(entry | ({"draw": draw} if draw else {}))

    def _refusal(self, text: str, code: Code = Code.POLICY, detail: str = "") -> Refusal:
        path = self._ledger.path
        where = "" if path is None else f"see {path}, which its owner may reset"
        return Refusal(text, code=code, private="; ".join(filter(None, (detail, where))))


def _advise(cohorts: Sequence[tuple[str, ...]]) -> str:
    """What to do about a cohort that does not fit an earlier one."""
    if not cohorts:
        return ""
    last = cohorts[-1]
    names = ", ".join(last) if len(last) <= _NAMED else f"{', '.join(last[:_NAMED])}, ..."
    return (
        f". The last total was over {len(last)} clients ({names}): run the study with exactly "
        "these, by naming them under [clients] of the study, or let all owners reset their ledgers"
    )
