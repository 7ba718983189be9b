"""Client of an NVFlare app that does nothing; it imports only NVFlare."""

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

TOPIC, BODY = "null", "body"


class NullExecutor(Executor):
    """Sends back as many bytes as requested."""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Register the handler when the job starts."""
        if event_type == EventType.START_RUN:
            fl_ctx.get_engine().register_aux_message_handler(TOPIC, self._answer)

    def _answer(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        reply = make_reply(ReturnCode.OK)
        reply[BODY] = bytes(request["up"])
        return reply

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """Refuse tasks."""
        return make_reply(ReturnCode.TASK_UNKNOWN)
