"""Schedules of faults, drawn by a seed: what breaks, where, when, and for how long."""

import random
from dataclasses import dataclass
from enum import StrEnum

from .processes import CLIENTS

MOST = 3  # faults in a schedule


class What(StrEnum):
    """A fault."""

    KILL = "kill"
    STOP = "stop"  # SIGSTOP, and later SIGCONT
    CUT = "cut"  # connections are closed, and refused for a while
    MUTE = "mute"  # connections stay open, but no byte passes
    DISK = "full disk"
    CLOCK = "wrong clock"


class Where(StrEnum):
    """What a fault hits."""

    SERVER = "server"  # the command and all its processes
    SERVER_ENGINE = "the server's engine"
    SERVER_JOB = "the server's job"
    CLIENT = "client"  # the command and all its processes; with a wrong clock it is restarted
    ENGINE = "a client's engine"
    JOB = "a client's job"


class Setting(StrEnum):
    """The study that runs."""

    NONE_ROWS = "none, rows"
    QUORUM_ROWS = "none, rows, two of three needed"
    SECURE_ROWS = "secure, rows"
    NOISY_ROWS = "secure+dp, rows"
    NONE_COLUMNS = "none, columns"
    SECURE_COLUMNS = "secure, columns"


_PLACES = {
    What.KILL: tuple(Where),
    What.STOP: tuple(Where),
    What.CUT: (Where.CLIENT, Where.SERVER),
    What.MUTE: (Where.CLIENT, Where.SERVER),
    What.DISK: (Where.CLIENT, Where.SERVER),
    What.CLOCK: (Where.CLIENT, Where.JOB, Where.SERVER),
}
_SHIFTS = (-2 * 86_400, -180, 180, 86_400)  # seconds


@dataclass(frozen=True)
class Fault:
    """One fault; those on the side of a client hit one client."""

    what: What
    where: Where
    client: str
    after: int  # rounds that the server has shown since the fault before
    seconds: float  # until it is over; a process that was killed is started again at once
    shift: int  # of a clock, in seconds

    @property
    def at_server(self) -> bool:
        """Whether it hits the server's side."""
        return self.where in (Where.SERVER, Where.SERVER_ENGINE, Where.SERVER_JOB)

    def __str__(self) -> str:
        who = self.where if self.at_server else f"{self.where} ({self.client})"
        by = f" by {self.shift} s" if self.what is What.CLOCK else ""
        lasting = "" if self.what is What.KILL else f" for {self.seconds:g} s"
        return f"{self.what}{by}: {who}{lasting}, after {self.after} rounds"


@dataclass(frozen=True)
class Schedule:
    """A study, and the faults that hit it one after another."""

    seed: int
    setting: Setting
    faults: tuple[Fault, ...]

    def has(self, what: What) -> bool:
        """Whether a fault of this kind occurs."""
        return any(fault.what is what for fault in self.faults)

    def __str__(self) -> str:
        return f"{self.seed}: {self.setting}; {'; '.join(map(str, self.faults))}"


def draw(seed: int) -> Schedule:
    """The schedule of a seed. Settings take turns; everything else is drawn."""
    settings, rng = tuple(Setting), random.Random(seed)
    faults = tuple(_draw_fault(rng) for _ in range(rng.randint(1, MOST)))
    return Schedule(seed, settings[seed % len(settings)], faults)


def _draw_fault(rng: random.Random) -> Fault:
    what = rng.choice(tuple(What))
    return Fault(
        what,
        rng.choice(_PLACES[what]),
        rng.choice(CLIENTS),
        rng.randint(0, 20),
        float(rng.choice((2, 5, 12, 25))),
        rng.choice(_SHIFTS),
    )
