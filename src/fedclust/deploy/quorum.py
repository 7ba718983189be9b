"""The clients that a study waits for before a job is submitted."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..core import TooFewClients
from ..study.layouts import layout_of
from ..study.settings import Study
from ..tiers import Tier
from .conditions import Watch

_POLL_INTERVAL = 0.2  # seconds


@dataclass(frozen=True)
class RunOptions:
    """Time limits and number of attempts."""

    deadline: float = 120.0  # seconds to wait for a client's reply
    # Maximum seconds to wait until enough clients are connected, and until owners have approved.
    wait: float = 600.0
    grace: float = 5.0  # seconds to wait for the other clients after that
    attempts: int = 5  # maximum number of jobs, if jobs fail


@dataclass(frozen=True)
class Quorum:
    """The clients that must be connected before a job is submitted."""

    needed: int
    text: str
    study: Study
    expected: frozenset[str]  # once they are there, nobody else is waited for

    @classmethod
    def of(cls, study: Study, tier: Tier, known: frozenset[str] = frozenset()) -> "Quorum":
        """The minimum number of clients of the study or of its tier, whichever is larger."""
        configured, protected = study.sampling.min_clients, tier.fewest_clients
        text = f"{max(configured, protected)} needed"
        if protected > configured:
            text += f": the minimum for tier = {tier.name!r}"
        expected = frozenset(study.clients) or known
        return cls(max(configured, protected), text, study, expected)

    def wait(
        self,
        session: Any,
        options: RunOptions,
        watch: Watch,
        indispensable: frozenset[str] = frozenset(),
    ) -> list[str]:
        """Wait until enough clients are connected, and a grace period longer; return them.

        Indispensable clients are waited for as well, however many others there are.
        """
        end, enough_since, before = time.monotonic() + options.wait, None, None
        while True:
            blocked = watch.conditions.blocked()
            connected = self._select(session.clients(), blocked)
            away = sorted(indispensable - set(connected))
            if connected != before:
                without = f"; the others cannot go on without {', '.join(away)}" if away else ""
                text = f"connected: {', '.join(connected) or 'none yet'} ({self.text}{without})"
                watch.say({"message": text, "connected": connected})
                before = connected
            watch.look(partial(self._describe_wait, connected, end))
            now = time.monotonic()
            if len(connected) >= self.needed and not away:
                enough_since = enough_since or now
                complete = bool(self.expected) and self.expected <= set(connected)
                if complete or now - enough_since >= options.grace:
                    if missing := self._describe_missing(connected, blocked):
                        watch.say({"message": missing})
                    return connected
            elif now > end:
                missing = self._describe_missing(connected, blocked)
                raise TooFewClients(
                    self._explain_timeout(connected, options.wait, away, missing, watch)
                )
            else:
                enough_since = None
            time.sleep(_POLL_INTERVAL)

    def _describe_wait(self, connected: Collection[str], end: float) -> str:
        names = ", ".join(sorted(self.expected - set(connected))) or "clients"
        left = max(0.0, end - time.monotonic())
        return f"waiting for {names}, for {left:.0f} s at most ({self.text})"

    def _select(self, clients: Sequence[str], blocked: Collection[str]) -> list[str]:
        """Clients of the study where a job can run."""
        selected = layout_of(self.study).select_clients(clients)
        return [client for client in selected if client not in blocked]

    def _describe_missing(self, connected: Collection[str], blocked: Collection[str]) -> str:
        missing = sorted(self.expected - set(connected) - set(blocked))
        if not missing:
            return ""
        names = ", ".join(missing)
        return f"not connected: {names}; if fedclust client runs there, its console says why"

    def _explain_timeout(
        self,
        connected: Sequence[str],
        seconds: float,
        away: Sequence[str],
        missing: str,
        watch: Watch,
    ) -> str:
        names = ", ".join(connected) or "none"
        absent = layout_of(self.study).describe_absent(connected)
        if away:
            absent += (
                f"; the others cannot go on without {', '.join(away)}: start 'fedclust client' "
                "there, then run the same command with --resume"
            )
        if missing and not absent:
            absent = f"; {missing}"
        wrong = "".join(f"; {one}" for one in watch.conditions.find())
        return (
            f"{len(connected)} clients connected within {seconds:g} s ({self.text}; connected: "
            f"{names}){absent}{wrong}"
        )
