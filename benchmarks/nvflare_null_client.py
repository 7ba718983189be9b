"""The client's side of an NVFlare app that does nothing; it imports nothing but NVFlare."""

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

TOPIC, BODY = "null", "body"


class NullExecutor(Executor):
    """Sends as many bytes back as it is asked for."""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Listen when the job starts."""
        if event_type == EventType.START_RUN:
            fl_ctx.get_engine().register_aux_message_handler(TOPIC, self._answered)

    def _answered(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        reply = make_reply(ReturnCode.OK)
        reply[BODY] = bytes(request["up"])
        return reply

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """There are no tasks."""
        return make_reply(ReturnCode.TASK_UNKNOWN)
