"""Read the data of clients: files, data frames, ids and tables become arrays."""

from .formats import (
    BatchReader,
    Columns,
    Format,
    Reading,
    Selection,
    Writer,
    known_formats,
    register_format,
    unregister_format,
)
from .kinds import Kind
from .settings import ReadOptions

__all__ = [
    "BatchReader",
    "Columns",
    "Format",
    "Kind",
    "ReadOptions",
    "Reading",
    "Selection",
    "Writer",
    "known_formats",
    "register_format",
    "unregister_format",
]
