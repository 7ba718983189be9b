"""The formats that fedclust knows: its own, registered ones, and those of installed packages."""

import warnings
from functools import cache
from pathlib import Path

from ...core import ConfigError
from .csv import CSV
from .feather import FEATHER
from .format import BatchReader, Format, Writer
from .npz import NPZ
from .parquet import PARQUET

ENTRY_POINTS = "fedclust.formats"  # the group in which packages name their formats
_formats = [PARQUET, FEATHER, CSV, NPZ]  # in the order in which they are listed


def register_format(format: Format) -> None:
    """Make a format known: its files are read wherever fedclust reads files.

    Registering it again changes nothing. A suffix belongs to one format only.
    """
    if format in _formats:
        return
    for suffix in format.suffixes:
        if other := _by_suffix(suffix):
            raise ConfigError(
                f"format {format.name!r}: {suffix} files are read by format {other.name!r} already"
            )
    _formats.append(format)


def unregister_format(format: Format) -> None:
    """Forget a format that was registered."""
    _formats.remove(format)


def known_formats() -> tuple[Format, ...]:
    """All formats, those of installed packages too."""
    _load_installed()
    return tuple(_formats)


def format_of(file: Path) -> Format:
    """The format of a file, by its suffix in any case."""
    if found := _find(file.suffix):
        return found
    known = ", ".join(sorted(suffix for format in _formats for suffix in format.suffixes))
    raise ConfigError(f"{file}: unknown kind of file; fedclust reads {known}")


def batch_reader_of(file: Path) -> BatchReader:
    """How a file is read in batches; refuse a file that is read as a whole only."""
    found = format_of(file).batches
    if found is None:
        offered = (s for format in known_formats() if format.batches for s in format.suffixes)
        raise ConfigError(
            f"{file}: only {', '.join(offered)} files are read in batches; save it as Parquet, "
            "or set batch_rows = 0"
        )
    return found


def label_suffixes() -> tuple[str, ...]:
    """The suffixes of files that labels can be written to."""
    return tuple(s for format in known_formats() if format.write for s in format.suffixes)


def writes_labels(suffix: str) -> bool:
    """Whether labels can be written to files with this suffix."""
    found = _find(suffix)
    return found is not None and found.write is not None


def label_writer(target: Path, path: Path | None = None) -> Writer:
    """A writer of labels to `path`, in the format of `target`; both are the same by default."""
    found = _find(target.suffix)
    if found is None or found.write is None:
        raise ConfigError(f"{target}: labels are written to {' or '.join(label_suffixes())} files")
    return found.write(path or target)


def _find(suffix: str) -> Format | None:
    found = _by_suffix(suffix)
    if found is None:
        _load_installed()
        found = _by_suffix(suffix)
    return found


def _by_suffix(suffix: str) -> Format | None:
    lower = suffix.lower()
    return next((format for format in _formats if lower in format.suffixes), None)


@cache
def _load_installed() -> None:
    """Register the formats of installed packages, once: most programs never need them."""
    from importlib.metadata import entry_points  # slow to import

    for point in entry_points(group=ENTRY_POINTS):
        try:
            format = point.load()
            if not isinstance(format, Format):
                raise ConfigError(f"expected a Format, got {type(format).__name__}")
            register_format(format)
        except Exception as problem:  # another package's fault must not stop a study of CSV files
            warnings.warn(
                f"entry point {point.name!r} of {ENTRY_POINTS} is not usable ({problem})",
                RuntimeWarning,
                stacklevel=2,
            )
