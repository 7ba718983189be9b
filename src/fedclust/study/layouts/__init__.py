"""Layouts: split rows and split columns, looked up in one place."""

from ..settings import Study
from .base import Clustered, Described, Layout, Survey
from .columns import ColumnsLayout
from .rows import RowsLayout

LAYOUTS: dict[str, type[Layout]] = {kind.split: kind for kind in (RowsLayout, ColumnsLayout)}


def layout_of(study: Study) -> Layout:
    """The layout that a study's data have."""
    return LAYOUTS[study.data.split](study)


__all__ = ["LAYOUTS", "Clustered", "Described", "Layout", "Survey", "layout_of"]
