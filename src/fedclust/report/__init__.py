"""Render a run folder as one self-contained HTML file."""

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .folder import RunFiles, read_run
    from .page import render, write_report

__all__ = ["RunFiles", "read_run", "render", "write_report"]

__getattr__ = lazy_names(
    __name__, {"folder": ("RunFiles", "read_run"), "page": ("render", "write_report")}
)
