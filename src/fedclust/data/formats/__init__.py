"""File formats, one `Format` each. A new format needs one file and a registration."""

from .format import (
    BATCH_ROWS,
    BatchReader,
    Columns,
    Format,
    Reading,
    Selection,
    Writer,
    check_shapes,
    readable,
)
from .header import UNNAMED, refuse_duplicates
from .registry import (
    batch_reader_of,
    format_of,
    has_format,
    known_formats,
    label_suffixes,
    label_writer,
    register_format,
    unregister_format,
    writes_labels,
)

__all__ = [
    "BATCH_ROWS",
    "BatchReader",
    "Columns",
    "Format",
    "Reading",
    "Selection",
    "UNNAMED",
    "Writer",
    "batch_reader_of",
    "check_shapes",
    "format_of",
    "has_format",
    "known_formats",
    "label_suffixes",
    "label_writer",
    "readable",
    "refuse_duplicates",
    "register_format",
    "unregister_format",
    "writes_labels",
]
