"""A grid whose SuperNodes are in this process; messages cross it as Flower's bytes."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.supercore.task_identity import TaskIdentity

from fedclust.channels.flower import KIT_KEY, NAME_KEY
from fedclust.deploy.flower.client import app as client

Spoil = Callable[[str, Message], "Message | None"]  # a client's name and its reply
RUN, SUPERLINK = 7, 1


class FakeGrid:
    """SuperNodes of given node-configs, each with the app that Flower would load there."""

    def __init__(self, configs: Mapping[int, Mapping[str, Any]], app: ClientApp = client) -> None:
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = RUN, SUPERLINK, 1
        self.app = app
        self.nodes = {
            id: Context(RUN, id, dict(config), RecordDict(), {}) for id, config in configs.items()
        }
        self.online = set(self.nodes)
        self.sent: list[Message] = []
        self.replies: dict[str, Message] = {}
        self.spoil: Spoil = lambda name, reply: reply
        self.refuses: Callable[[Message], bool] = lambda message: False

    @classmethod
    def of(cls, kits: Iterable[Path], app: ClientApp = client) -> "FakeGrid":
        """A SuperNode for each kit; the order of Flower's ids is not the order of names."""
        configs = {
            (7919 * (i + 1)) % 104729 + 2**62 * (i % 2): {NAME_KEY: kit.name, KIT_KEY: str(kit)}
            for i, kit in enumerate(kits)
        }
        return cls(configs, app)

    def get_node_ids(self) -> list[int]:
        return sorted(self.online)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        return [self._pushed(message) for message in messages]

    def _pushed(self, message: Message) -> str:
        if self.refuses(message):
            return ""
        id = f"message {len(self.sent)}"
        message.metadata.__dict__["_message_id"] = id
        self.sent.append(message)
        context = self.nodes[message.metadata.dst_node_id]
        reply = self._ran(across(message), context)
        spoilt = self.spoil(str(context.node_config.get(NAME_KEY)), across(reply))
        if spoilt is not None:
            self.replies[id] = spoilt
        return id

    def _ran(self, message: Message, context: Context) -> Message:
        """A process of its own, as Flower's: an error in it is a reply."""
        try:
            return self.app(message, context)
        except Exception as problem:
            return Message(Error(2, f"{type(problem)}:<'{problem}'>"), reply_to=message)

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        wanted = [id for id in message_ids if id in self.replies]
        return [self.replies.pop(id) for id in reversed(wanted)]


def across(message: Message) -> Message:
    """The message that arrives where one is sent."""
    return message_from_proto(message_to_proto(message))


def by_the_superlink(error: Error, asked: Message) -> Message:
    """An error that no client wrote: it says nothing of whom it is about but by the message."""
    reply = Message(error, reply_to=asked)
    reply.metadata.__dict__["_src_node_id"] = SUPERLINK
    return reply
