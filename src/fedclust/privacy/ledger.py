"""The ledger: what a data set has released, in a file that people can read.

One line of JSON per release, written and synced before the message leaves; nothing is ever
changed or removed. Every look at the same rows counts: rounds, restarts, other numbers of clusters,
scores. Only an explicit reset starts the count anew, and the reset is a line too.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..core import ConfigError, Refusal
from ..core.files import lock


class Ledger:
    """Releases of one data set; in memory only, unless it has a path."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._read = 0  # bytes of the file that are in here
        self._queries: set[str] = set()
        self._cohorts: set[tuple[str, ...]] = set()
        self._sent_to: dict[str, list[str]] = {}
        self._described: dict[str, set[str]] = {}
        self.spent = 0.0  # sum of squares of Gaussian privacy parameters
        if self.path is not None:
            with self._open() as file:
                self._catch_up(file)

    @property
    def n_queries(self) -> int:
        """Different questions answered since the last reset."""
        return len(self._queries)

    def record_query(self, query: bytes, *, what: str, most: int | None = None) -> None:
        """Count a release, or refuse; the same question again is no further release."""
        name = query.hex()[:32]
        with self._open() as file:
            self._catch_up(file)
            if name in self._queries:
                return
            if most is not None and self.n_queries >= most:
                raise Refusal(
                    f"{what}: this data set has answered {self.n_queries} questions, and {most} "
                    f"are allowed, by the study's max_queries or this client's{self._where()}"
                )
            self._write(file, {"event": "query", "query": name, "what": what})

    def join(
        self, cohort: tuple[str, ...], sent: bytes, *, what: str, most: int, steady: bool = False
    ) -> None:
        """Note with whom sums are hidden, or refuse: sums of two cohorts tell of the difference.

        The same broadcast for another cohort is refused, unless the cohort has lost members (not
        with `steady`); and so is any cohort beyond the first few, whatever is broadcast.
        """
        members, name = sorted(cohort), sent.hex()[:32]
        with self._open() as file:
            self._catch_up(file)
            before = self._sent_to.get(name)
            known = before is None or (members == before if steady else set(members) <= set(before))
            if not known:
                raise Refusal(f"{what}: this was sent before, to another cohort{self._where()}")
            if tuple(members) not in self._cohorts and len(self._cohorts) >= most:
                raise Refusal(
                    f"{what}: this data set was summed with {most} cohorts, and one more would "
                    f"tell them apart{self._where()}"
                )
            if before != members:
                self._write(file, {"event": "cohort", "members": members, "sent": name})

    def describe(self, column: str, words: str, *, most: int) -> None:
        """Note how a column is described by who asks, or refuse beyond a few descriptions.

        Whether values fit bounds or categories is told by any answer: many bounds give a value.
        """
        with self._open() as file:
            self._catch_up(file)
            known = self._described.get(column, set())
            if words in known:
                return
            if len(known) >= most:
                raise Refusal(
                    f"column {column!r} was asked with {most} different bounds or categories, and "
                    f"each tells whether its values fit{self._where()}"
                )
            self._write(file, {"event": "column", "column": column, "words": words})

    def spend(self, cost: float, *, what: str, budget: float | None = None) -> None:
        """Pay for noise with a square of mu, or refuse; every draw is paid for."""
        with self._open() as file:
            self._catch_up(file)
            if budget is not None and self.spent + cost > budget * (1 + 1e-9):
                raise Refusal(
                    f"{what}: the privacy budget is spent ({self.spent:.3g} of {budget:.3g}, and "
                    f"this costs {cost:.3g}){self._where()}"
                )
            self._write(file, {"event": "noise", "cost": cost, "what": what})

    @property
    def memory(self) -> Path | None:
        """Beside the ledger: which records were told of together, for guards."""
        return None if self.path is None else self.path.with_suffix(".told.npz")

    def reset(self, why: str) -> None:
        """Start the count anew, and forget what guards remember: for other data, say."""
        if not why.strip():
            raise ConfigError("reset: say why; it is written down")
        with self._open() as file:
            self._catch_up(file)
            self._write(file, {"event": "reset", "why": why})
            if self.memory is not None:
                self.memory.unlink(missing_ok=True)

    def _where(self) -> str:
        return "" if self.path is None else f"; see {self.path.name}, which its owner may reset"

    def _apply(self, entry: Any) -> None:
        if entry["event"] == "reset":
            self._queries, self.spent = set(), 0.0
            self._cohorts, self._sent_to, self._described = set(), {}, {}
        elif entry["event"] == "column":
            self._described.setdefault(entry["column"], set()).add(entry["words"])
        elif entry["event"] == "cohort":
            self._cohorts.add(tuple(entry["members"]))
            self._sent_to[entry["sent"]] = entry["members"]
        elif entry["event"] == "noise":
            self.spent += float(entry["cost"])
        else:
            self._queries.add(entry["query"])

    def _write(self, file: IO[bytes] | None, entry: dict[str, Any]) -> None:
        entry = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **entry}
        if file is not None:
            file.seek(0, os.SEEK_END)
            file.write(json.dumps(entry).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            self._read = file.tell()
        self._apply(entry)

    def _catch_up(self, file: IO[bytes] | None) -> None:
        """Take in what others wrote; a last line without an end was never followed by a message."""
        if file is None:
            return
        file.seek(self._read)
        text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines()):
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise ConfigError(
                    f"{self.path}: line {number + 1} is no entry of a ledger; it was damaged or "
                    "edited. Keep the file, and start another with a reset"
                ) from None
        self._read += len(whole)
        if len(whole) < len(text):
            file.truncate(self._read)

    @contextmanager
    def _open(self) -> Iterator[IO[bytes] | None]:
        if self.path is None:
            yield None
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b") as file:
            lock(file)
            yield file
