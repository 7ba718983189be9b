"""Runs of several shapes, as pages."""

from pathlib import Path
from typing import Any

from fedclust.report import read_run, render

from .pages import Page

LONG = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogoch " * 2


SHAPES: dict[str, dict[str, Any]] = {
    "hard": {},
    "fuzzy": {"clusters": 5, "soft": True, "choice": True},
    "large": {"clusters": 20, "columns": 40, "clients": [LONG, *(f"c{i}" for i in range(29))]},
    "one of all": {"clusters": 1, "columns": 1, "clients": ["alone"]},
    "no map": {"drawn": False},
}


def page_of(folder: Path) -> Page:
    return Page(render(read_run(folder)))
