"""A deadline that follows the measured rounds: silence after quick rounds is noticed quickly."""

from collections import defaultdict, deque

_ROUNDS = 10  # of a kind of request, the latest
_ENOUGH = 3  # rounds from which a deadline is estimated
_FACTOR = 20.0  # how many times the longest of these rounds a client may take
_LEAST = 10.0  # seconds; a machine may be busy, or a connection slow, for so long


class Pace:
    """How long clients take to answer, by kind of request."""

    def __init__(self, longest: float) -> None:
        self._longest = longest  # seconds
        self._measured: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_ROUNDS))

    def note(self, kind: str, seconds: float) -> None:
        """Note how long a request took that all clients have answered."""
        self._measured[kind].append(seconds)

    def deadline(self, kind: str) -> float:
        """Seconds for the answers to the next request of this kind."""
        measured = self._measured[kind]
        if len(measured) < _ENOUGH:
            return self._longest
        return min(self._longest, max(_LEAST, _FACTOR * max(measured)))
