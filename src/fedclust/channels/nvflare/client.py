"""The job process of a client: opens its data once and answers requests from memory."""

from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.lighter.utils import verify_folder_signature_and_get_signers

from . import BODY, HELLO, SITE, STATE, TICKET, TOPIC
from .desk import Desk

_HOLD = 1.0  # seconds for which a question about an unfinished answer is held


def _signer(app: str, workspace: Any) -> str:
    """Name in the certificate that signed the job's configuration, verified at the client."""
    authority = workspace.get_file_path_in_startup("rootCA.pem")
    verified, signers = verify_folder_signature_and_get_signers(app, authority)
    return str(signers[0][0]) if verified and len(signers) == 1 else ""


class SiteExecutor(Executor):
    """Passes requests to the component `site` and returns its replies."""

    def __init__(self) -> None:
        super().__init__()
        self._desk = Desk(lambda body: b"")

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Open the site when the job starts."""
        if event_type != EventType.START_RUN:
            return
        engine = fl_ctx.get_engine()
        workspace = engine.get_workspace()
        author = _signer(workspace.get_app_dir(fl_ctx.get_job_id()), workspace)
        folder = Path(workspace.get_root_dir())
        site = engine.get_component(SITE).open(folder, fl_ctx.get_identity_name())
        self._desk = Desk(lambda body: site.answer(body, author))
        engine.register_aux_message_handler(TOPIC, self._answer)

    def _answer(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        body, ticket = request.get(BODY), str(request.get(TICKET))
        reply = make_reply(ReturnCode.OK)
        if STATE in request:
            reply[STATE] = self._desk.state(ticket, _HOLD).value
        elif isinstance(body, bytes) and body != HELLO:
            reply[BODY] = self._desk.ask(ticket, body)
        else:
            reply[BODY] = HELLO
        return reply

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """Refuse tasks: fedclust uses auxiliary requests only."""
        return make_reply(ReturnCode.TASK_UNKNOWN)
