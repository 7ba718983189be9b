"""Channels from the server to clients, one for each engine; algorithms know none of them."""

from .local import LocalChannel
from .remote import Incident, RemoteChannel, Transport

__all__ = ["Incident", "LocalChannel", "RemoteChannel", "Transport"]
