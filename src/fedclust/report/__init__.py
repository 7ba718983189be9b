"""A run folder as one HTML file that needs nothing else, not even a network."""

from .folder import RunFiles, read_run
from .page import render, write_report

__all__ = ["RunFiles", "read_run", "render", "write_report"]
