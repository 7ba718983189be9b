"""Server of an NVFlare app that only exchanges bytes."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from .nvflare_null_client import BODY, TOPIC


class NullController(Controller):
    """Sends `down` bytes to all clients and waits for `up` bytes from each, in every round."""

    def __init__(self, out: str, rounds: int, down: int, up: int) -> None:
        super().__init__()
        self._out, self._rounds, self._down, self._up = out, rounds, down, up

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to prepare."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Wait for the clients' processes, then run the rounds."""
        names = [client.name for client in fl_ctx.get_engine().get_clients()]
        while not self._round(fl_ctx, names, 2.0):
            time.sleep(0.1)
        ends = [time.time()]
        for _ in range(self._rounds):
            assert self._round(fl_ctx, names, 60.0)
            ends.append(time.time())
        Path(self._out).write_text(json.dumps({"ends": ends}))

    def _round(self, fl_ctx: FLContext, names: Sequence[str], seconds: float) -> bool:
        message = Shareable()
        message[BODY] = bytes(self._down)
        message["up"] = self._up
        replies = fl_ctx.get_engine().send_aux_request(
            targets=names,
            topic=TOPIC,
            request=message,
            timeout=seconds,
            fl_ctx=fl_ctx,
            optional=True,
        )
        return all(reply.get_return_code() == ReturnCode.OK for reply in replies.values())

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to clean up."""

    def process_result_of_unknown_task(
        self, client: object, task_name: str, client_task_id: str, result: object, fl_ctx: FLContext
    ) -> None:
        """There are no tasks."""
