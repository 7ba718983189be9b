"""Ways to the clients. Each engine has its place here, and no algorithm knows of any."""

from .local import LocalChannel
from .remote import Incident, RemoteChannel, Transport

__all__ = ["Incident", "LocalChannel", "RemoteChannel", "Transport"]
