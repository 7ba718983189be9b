"""A channel to clients in this process, for research and simulation."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..core import Batches, Data, Message, Plan, Request, respond
from ..core.codec import decode_answer, decode_record, decode_request, encode_reply, encode_request
from ..core.wire import unpack
from ..kernels.threads import map_in_parallel, worth_a_thread
from ..privacy import ClientPolicy


class LocalChannel:
    """A channel to data in memory: client name to `Data`, `Batches`, or a table.

    With ``strict=True`` every request and reply is encoded as bytes and decoded again, as on a
    network, so that only declared arrays arrive.
    """

    def __init__(self, data: Mapping[str, Data | Batches | Any], *, strict: bool = False) -> None:
        self._data = {name: _with_policy(name, given) for name, given in data.items()}
        self._strict = strict

    def clients(self) -> Iterable[str]:
        """Ids of all clients."""
        return self._data.keys()

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        """Yield all replies; clients whose data keep one thread busy run in parallel."""
        to = request.to
        if self._strict:
            frame = unpack(encode_request(plan, request))
            request = decode_request(frame, lambda _: plan).request

        def answer(client: str) -> tuple[str, Message]:
            message = respond(plan, request, client, self._data[client])
            if self._strict:
                raw = encode_reply(message, client=client)
                frame = decode_answer(raw, answers="", client=client)
                message = decode_record(plan.algorithm.up, frame.arrays)
            return client, message

        return answer_in_parallel(answer, {c: self._data[c].shape for c in to})


def answer_in_parallel(
    answer: Callable[[str], tuple[str, Message]], shapes: Mapping[str, tuple[int, int]]
) -> Iterator[tuple[str, Message]]:
    """All answers; clients whose rows keep one thread busy answer in parallel."""
    one_thread = {client: worth_a_thread(*shape) for client, shape in shapes.items()}
    yield from map_in_parallel(answer, [client for client in shapes if one_thread[client]])
    # Large clients use all threads by themselves, small ones none.
    yield from (answer(client) for client in shapes if not one_thread[client])


def _with_policy(name: str, given: Data | Batches | Any) -> Data | Batches:
    """A client's data, with a policy of its own; its keys last as long as the channel."""
    rows = given
    if not isinstance(given, Data | Batches):
        rows = Data.of(given, client=f"client {name!r}")
    return rows if rows.policy is not None else replace(rows, policy=ClientPolicy())
