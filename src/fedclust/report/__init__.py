"""Render a run folder as one self-contained HTML file."""

from .folder import RunFiles, read_run
from .page import render, write_report

__all__ = ["RunFiles", "read_run", "render", "write_report"]
