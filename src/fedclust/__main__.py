"""``python -m fedclust``: the command line, where no script is on the path."""

from .cli import app

if __name__ == "__main__":
    app()
