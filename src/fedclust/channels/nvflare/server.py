"""The job process of the server: waits for the clients' processes, then runs the study."""

import time
from collections.abc import Iterator, Sequence

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from . import BODY, HELLO, STUDY, TOPIC

_CALL = 2.0  # seconds for a hello
_REASONS = {
    ReturnCode.TIMEOUT: "no answer in time",
    ReturnCode.COMMUNICATION_ERROR: "cannot be reached",
    ReturnCode.HANDLER_EXCEPTION: "an error in its process; see the log of the client",
    ReturnCode.TOPIC_UNKNOWN: "its process has not started yet",
}


class AuxTransport:
    """Exchanges bytes with the clients of a job, in one call that waits for all of them."""

    def __init__(self, fl_ctx: FLContext, abort: Signal) -> None:
        self._context, self._engine, self._abort = fl_ctx, fl_ctx.get_engine(), abort

    def clients(self) -> list[str]:
        """Clients of the job."""
        return sorted(client.name for client in self._engine.get_clients())

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        """Yield each client's reply, or the reason why there is none."""
        if self._abort.triggered:
            raise KeyboardInterrupt("the job was aborted")
        message = Shareable()
        message[BODY] = request
        replies = self._engine.send_aux_request(
            targets=list(clients),
            topic=TOPIC,
            request=message,
            timeout=seconds,
            fl_ctx=self._context,
            optional=True,
        )
        for client, reply in (replies or {}).items():
            yield client, _answer(reply)

    def wait(self, seconds: float) -> list[str]:
        """Wait for all clients' processes, at most `seconds`; return those that reply."""
        end, wanted = time.monotonic() + seconds, set(self.clients())
        ready: set[str] = set()
        while wanted - ready and time.monotonic() < end and not self._abort.triggered:
            answers = self.exchange(sorted(wanted - ready), HELLO, _CALL)
            ready |= {client for client, answer in answers if isinstance(answer, bytes)}
            if wanted - ready:
                time.sleep(0.1)
        return sorted(ready)


def _answer(reply: object) -> bytes | str:
    if not isinstance(reply, Shareable):
        return "its answer is not a message"
    code = reply.get_return_code()
    body = reply.get(BODY)
    if code != ReturnCode.OK:
        return _REASONS.get(code, f"no answer ({code})")
    return body if isinstance(body, bytes) else "its answer contains no bytes"


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
