"""A clock that only moves when somebody waits."""


class Clock:
    """Stands for the module `time`: nobody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
