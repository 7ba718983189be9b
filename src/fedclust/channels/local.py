"""All clients in this process: for research, for simulation, and for one data owner alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..core import Data, Message, Plan, Request, respond
from ..kernels.threads import in_parallel, worth_a_thread
from ..privacy import Gate


class LocalChannel:
    """A channel to data that is already here: name to `Data`, or to a table.

    With ``strict=True`` every request and reply is taken apart into named arrays and put
    together again, as on a network: what is not an announced array does not arrive.
    """

    def __init__(self, data: Mapping[str, Data | Any], *, strict: bool = False) -> None:
        self._data = {name: _with_gate(name, given) for name, given in data.items()}
        self._strict = strict

    def clients(self) -> Iterable[str]:
        """Ids of all clients."""
        return self._data.keys()

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        """The cohort's answers; clients whose rows keep one thread busy answer in parallel."""
        if self._strict:
            request = replace(request, down=type(request.down).from_arrays(request.down.arrays()))

        def answer(client: str) -> tuple[str, Message]:
            message = respond(plan, request, client, self._data[client])
            if self._strict:
                message = plan.algorithm.up.from_arrays(message.arrays())
            return client, message

        one_thread = {c: worth_a_thread(*self._data[c].X.shape) for c in request.cohort}
        yield from in_parallel(answer, [c for c in request.cohort if one_thread[c]])
        # The large use all threads by themselves, the small none.
        yield from (answer(c) for c in request.cohort if not one_thread[c])


def _with_gate(name: str, given: Data | Any) -> Data:
    """A client's data, with a gate of its own: keys that last as long as the channel."""
    data = given if isinstance(given, Data) else Data.of(given, client=f"client {name!r}")
    return data if data.gate is not None else replace(data, gate=Gate())
