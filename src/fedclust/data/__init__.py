"""Read the data of clients: files, data frames, ids and tables become arrays."""

from .formats import (
    BatchReader,
    Columns,
    Format,
    Selection,
    Writer,
    known_formats,
    register_format,
    unregister_format,
)

__all__ = [
    "BatchReader",
    "Columns",
    "Format",
    "Selection",
    "Writer",
    "known_formats",
    "register_format",
    "unregister_format",
]
