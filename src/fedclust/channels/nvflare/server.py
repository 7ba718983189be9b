"""The job process of the server: waits for the clients' processes, then runs the study."""

import time
from collections.abc import Iterator, Mapping, Sequence

from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from ..remote import SILENCE
from . import BODY, HELLO, STUDY, TOPIC
from .call import Call, read_answer

_CALL = 2.0  # seconds for a hello
_OUTSIDE = "was not connected when the job began"


class AuxTransport:
    """Exchanges bytes with the clients of a job, in one call that waits for all of them."""

    def __init__(self, fl_ctx: FLContext, abort: Signal, silence: float = SILENCE) -> None:
        self._context, self._engine, self._abort = fl_ctx, fl_ctx.get_engine(), abort
        self._silence = silence
        self._silent: dict[str, str] = {}  # why; they are greeted before they are asked again

    def clients(self) -> list[str]:
        """Clients of the job."""
        return sorted(client.name for client in self._engine.get_clients())

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        """Yield each client's reply, or the reason why there is none.

        Clients outside of the job are not asked: the engine would then ask nobody.
        """
        inside = set(self.clients())
        for client in sorted(set(clients) - inside):
            yield client, _OUTSIDE
        asked = [client for client in clients if client in inside]
        suspects = [client for client in asked if client in self._silent]
        gone = set(suspects) - self._greet(suspects, min(_CALL, seconds))
        present = [client for client in asked if client not in gone]
        for client, answer in Call(self._send, present, request, seconds, self._silence).answers():
            if isinstance(answer, str):
                self._silent[client] = answer
            else:
                self._silent.pop(client, None)
            yield client, answer
        for client in sorted(gone):
            yield client, self._silent[client]

    def _greet(self, clients: Sequence[str], seconds: float) -> set[str]:
        """Those of the clients whose processes reply at all."""
        if not clients:
            return set()
        hello = Shareable()
        hello[BODY] = HELLO
        replies = self._send(clients, hello, seconds)
        return {c for c, reply in replies.items() if isinstance(read_answer(reply), bytes)}

    def _send(
        self, clients: Sequence[str], message: Shareable, seconds: float
    ) -> Mapping[str, object]:
        if self._abort.triggered:
            raise KeyboardInterrupt("the job was aborted")
        replies = self._engine.send_aux_request(
            targets=list(clients),
            topic=TOPIC,
            request=message,
            timeout=seconds,
            fl_ctx=self._context,
            optional=True,
        )
        return dict(replies or {})

    def wait(self, seconds: float) -> list[str]:
        """Wait for all clients' processes, at most `seconds`; return those that reply."""
        end, wanted = time.monotonic() + seconds, set(self.clients())
        ready: set[str] = set()
        while wanted - ready and time.monotonic() < end and not self._abort.triggered:
            ready |= self._greet(sorted(wanted - ready), _CALL)
            if wanted - ready:
                time.sleep(0.1)
        return sorted(ready)


class StudyController(Controller):
    """Runs the component `study` over the clients of the job."""

    def __init__(self, wait: float = 30.0) -> None:
        super().__init__()
        self._wait = wait

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to prepare."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Run the study, which records its own errors."""
        transport = AuxTransport(fl_ctx, abort_signal)
        ready = transport.wait(self._wait)
        fl_ctx.get_engine().get_component(STUDY).run(transport, ready)

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to clean up."""

    def process_result_of_unknown_task(
        self, client: object, task_name: str, client_task_id: str, result: object, fl_ctx: FLContext
    ) -> None:
        """There are no tasks."""
