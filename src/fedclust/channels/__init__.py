"""Ways to the clients. Each engine has one file, and no algorithm knows of any."""

from .local import LocalChannel

__all__ = ["LocalChannel"]
