"""A client's job process: its data is opened once, and every request is answered from memory."""

from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.lighter.utils import verify_folder_signature_and_get_signers

from . import BODY, HELLO, SITE, TOPIC


def _signer(app: str, workspace: Any) -> str:
    """Whose certificate signed the job's configuration: not what the server says of it."""
    authority = workspace.get_file_path_in_startup("rootCA.pem")
    verified, signers = verify_folder_signature_and_get_signers(app, authority)
    return str(signers[0][0]) if verified and len(signers) == 1 else ""


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
        workspace = engine.get_workspace()
        self._author = _signer(workspace.get_app_dir(fl_ctx.get_job_id()), workspace)
        folder = Path(workspace.get_root_dir())
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
