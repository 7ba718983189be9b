"""A client's job process: its data is opened once, and every request is answered from memory."""

from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_def import JobMetaKey
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from . import BODY, HELLO, SITE, TOPIC


class SiteExecutor(Executor):
    """Hands requests to the component `site` and its answers back; it computes nothing itself."""

    def __init__(self) -> None:
        super().__init__()
        self._site: Any = None
        self._author = ""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Open the site when the job starts."""
        if event_type != EventType.START_RUN:
            return
        engine = fl_ctx.get_engine()
        folder = Path(engine.get_workspace().get_root_dir())
        meta = fl_ctx.get_prop(FLContextKey.JOB_META) or {}
        self._author = str(meta.get(JobMetaKey.SUBMITTER_NAME.value, ""))
        self._site = engine.get_component(SITE).open(folder, fl_ctx.get_identity_name())
        engine.register_aux_message_handler(TOPIC, self._answered)

    def _answered(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        body = request.get(BODY)
        reply = make_reply(ReturnCode.OK)
        known = isinstance(body, bytes) and body != HELLO
        reply[BODY] = self._site.answer(body, self._author) if known else HELLO
        return reply

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """There are no tasks: everything is an auxiliary request."""
        return make_reply(ReturnCode.TASK_UNKNOWN)
