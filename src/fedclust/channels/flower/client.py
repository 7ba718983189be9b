"""A SuperNode's part: every message is a process of its own, and every one is replied to.

A SuperNode whose app returns anything but a message waits for a reply for ever, in this run and
in all that follow. So whatever happens here, a message comes out.
"""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from flwr.app import ConfigRecord, Context, Message
from flwr.clientapp import ClientApp

from . import KIT_KEY, KITS, NAME, NAME_KEY, REQUEST
from .messages import carried, carrying, failure, naming

_STATE, _ANSWERED = "fedclust", "answered"
_log = logging.getLogger(__name__)


class Answers(Protocol):
    """A client's side of a study; `answered` is how many rounds it has answered in this run."""

    @property
    def answered(self) -> int: ...

    def answer(self, raw: bytes) -> bytes:
        """The reply to a request."""


Open = Callable[[Path, str, int], Answers]  # its folder, its name, rounds answered before


def client_app(open_site: Open) -> ClientApp:
    """The app that hands requests to a site and its answers back; it computes nothing itself."""
    app = ClientApp()

    @app.query(NAME)
    def say_name(message: Message, context: Context) -> Message:
        return Message(naming(_whose(context)[1]), reply_to=message)

    @app.query(REQUEST)
    def reply(message: Message, context: Context) -> Message:
        try:
            answer = _answered(open_site, message, context)
            return Message(carrying(answer), reply_to=message)
        except (Exception, SystemExit):  # a library may do even that
            _log.exception("a message could not be answered")
            return failure("an unexpected error; its own log says which", message)

    return app


def _answered(open_site: Open, message: Message, context: Context) -> bytes:
    """The site's answer; how many rounds it has answered is kept until the next process."""
    raw = carried(message)
    if isinstance(raw, str):
        raise TypeError("the message holds no request")
    kit, name = _whose(context)
    if not kit or not name:
        raise ValueError(f"--node-config needs {KIT_KEY} and {NAME_KEY}")
    before = context.state.get(_STATE, {}).get(_ANSWERED, 0)
    site = open_site(Path(kit), name, before)
    answer = site.answer(raw)
    context.state[_STATE] = ConfigRecord({_ANSWERED: site.answered})
    return answer


def _whose(context: Context) -> tuple[str, str]:
    """Folder and name of the client: its SuperNode's own, or one of many in a simulation."""
    own = context.node_config
    if "ray" in sys.modules and KIT_KEY not in own:  # nobody's machine but the submitter's
        kits = sorted(Path(str(context.run_config.get(KITS, ""))).glob("*/client.toml"))
        place = int(own.get("partition-id", -1))
        if not 0 <= place < len(kits):
            return "", ""
        return str(kits[place].parent), kits[place].parent.name
    return str(own.get(KIT_KEY, "")), str(own.get(NAME_KEY, ""))
