"""``python -m fedclust``: the command line, with this very Python."""

from .cli import app

app()
