"""Clients that say something else than the truth."""

from collections.abc import Callable, Iterator
from typing import Any

from fedclust.channels import LocalChannel
from fedclust.core import Message, Plan, Request

Lie = Callable[[Request, Any], Any]


class Hostile(LocalChannel):
    """Some clients of a channel lie."""

    def __init__(self, data: Any, liars: tuple[str, ...], lie: Lie) -> None:
        super().__init__(data)
        self._liars, self._lie = liars, lie

    def ask(self, plan: Plan, request: Request) -> Iterator[tuple[str, Message]]:
        for client, message in super().ask(plan, request):
            yield client, self._lie(request, message) if client in self._liars else message
