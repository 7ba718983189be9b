"""Optional packages: which extra of fedclust brings them, and which are missing."""

from collections.abc import Iterable
from importlib.util import find_spec

EXTRAS = {  # name of an extra in pyproject.toml, and the packages that it brings
    "study": ("pyarrow",),
    "report": ("jinja2",),
    "excel": ("python_calamine",),
    "secure": ("cryptography",),
    "dp": ("opendp",),
    "watch": ("starlette", "uvicorn"),
}


def missing_extras(needed: Iterable[str]) -> list[str]:
    """The extras that are needed and not installed; "study" brings the report, too."""
    absent = [
        extra
        for extra in dict.fromkeys(needed)
        if any(find_spec(package) is None for package in EXTRAS[extra])
    ]
    return [extra for extra in absent if extra != "report" or "study" not in absent]


def install_command(extras: Iterable[str]) -> str:
    """The command that installs extras of fedclust."""
    return f"pip install 'fedclust[{','.join(extras)}]'"
