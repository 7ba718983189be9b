"""The ClientApp of a SuperNode: each message runs in its own process and always gets a reply.

If the app returned anything but a message, the SuperNode would wait for a reply forever, in this
run and all later ones. So every failure here becomes a reply.
"""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from flwr.app import ConfigRecord, Context, Message
from flwr.clientapp import ClientApp

from . import KIT_KEY, KITS, NAME, NAME_KEY, REQUEST
from .messages import bytes_content, error_reply, name_content, read_bytes

_STATE, _ANSWERED = "fedclust", "answered"
_log = logging.getLogger(__name__)


class Answers(Protocol):
    """A client's side of a study; `answered` counts its answered rounds in this run."""

    @property
    def answered(self) -> int: ...

    def answer(self, raw: bytes) -> bytes:
        """Return the reply to a request."""


Open = Callable[[Path, str, int], Answers]  # kit folder, name, rounds answered before


def client_app(open_site: Open) -> ClientApp:
    """Create the app that passes requests to a site and returns its replies."""
    app = ClientApp()

    @app.query(NAME)
    def reply_name(message: Message, context: Context) -> Message:
        return Message(name_content(_kit_and_name(context)[1]), reply_to=message)

    @app.query(REQUEST)
    def reply(message: Message, context: Context) -> Message:
        try:
            answer = _answer(open_site, message, context)
            return Message(bytes_content(answer), reply_to=message)
        except (Exception, SystemExit):  # libraries may even exit
            _log.exception("a message could not be answered")
            return error_reply("an unexpected error; see the log of the client", message)

    return app


def _answer(open_site: Open, message: Message, context: Context) -> bytes:
    """Get the site's reply, and save its number of answered rounds for the next process."""
    raw = read_bytes(message)
    if isinstance(raw, str):
        raise TypeError("the message contains no request")
    kit, name = _kit_and_name(context)
    if not kit or not name:
        raise ValueError(f"--node-config needs {KIT_KEY} and {NAME_KEY}")
    before = context.state.get(_STATE, {}).get(_ANSWERED, 0)
    site = open_site(Path(kit), name, before)
    answer = site.answer(raw)
    context.state[_STATE] = ConfigRecord({_ANSWERED: site.answered})
    return answer


def _kit_and_name(context: Context) -> tuple[str, str]:
    """Kit folder and name of the client, from the SuperNode or from the simulation."""
    own = context.node_config
    if "ray" in sys.modules and KIT_KEY not in own:  # a simulation on the submitter's machine
        kits = sorted(Path(str(context.run_config.get(KITS, ""))).glob("*/client.toml"))
        index = int(own.get("partition-id", -1))
        if not 0 <= index < len(kits):
            return "", ""
        return str(kits[index].parent), kits[index].parent.name
    return str(own.get(KIT_KEY, "")), str(own.get(NAME_KEY, ""))
