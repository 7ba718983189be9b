"""Registry of file formats: built-in, registered, and from installed packages."""

import warnings
from functools import cache
from pathlib import Path

from ...core import ConfigError
from ._text import COMPRESSIONS
from .csv import CSV
from .excel import EXCEL
from .feather import FEATHER
from .format import BatchReader, Format, Writer
from .npz import NPZ
from .parquet import PARQUET

ENTRY_POINTS = "fedclust.formats"  # entry-point group for formats of other packages
_formats = [PARQUET, FEATHER, CSV, EXCEL, NPZ]  # in the order in which they are listed


def register_format(format: Format) -> None:
    """Register a format, so that fedclust reads its files everywhere.

    Registering it again has no effect. A suffix belongs to one format only.
    """
    if format in _formats:
        return
    for suffix in format.suffixes:
        if other := _by_suffix(suffix):
            raise ConfigError(
                f"format {format.name!r}: suffix {suffix} is already used by format {other.name!r}"
            )
    _formats.append(format)


def unregister_format(format: Format) -> None:
    """Remove a registered format."""
    _formats.remove(format)


def known_formats() -> tuple[Format, ...]:
    """All formats, including those of installed packages."""
    _load_installed()
    return tuple(_formats)


def format_of(file: Path) -> Format:
    """The format of a file, by its suffix in any case; "t.csv.gz" is a compressed CSV file."""
    if file.suffix.lower() in COMPRESSIONS:
        format = _find(Path(file.stem).suffix)
        if format is None or not format.compressed:
            named = f"{Path(file.stem).stem}.csv{file.suffix}"
            raise ConfigError(
                f"{file}: only text files can be compressed; name it for its content, such as "
                f"{named}, or decompress it"
            )
        return format
    if format := _find(file.suffix):
        return format
    known = ", ".join(
        sorted(suffix for known_format in _formats for suffix in known_format.suffixes)
    )
    raise ConfigError(f"{file}: unknown file format; fedclust reads {known}, and .csv.gz")


def has_format(file: Path) -> bool:
    """Whether a file's suffix is that of a known format."""
    try:
        format_of(file)
    except ConfigError:
        return False
    return True


def batch_reader_of(file: Path) -> BatchReader:
    """Return the batch reader of a file; refuse a format that cannot be read in batches."""
    reader = format_of(file).batches
    if reader is None:
        supported = (s for format in known_formats() if format.batches for s in format.suffixes)
        raise ConfigError(
            f"{file}: only {', '.join(supported)} files can be read in batches; save it as "
            "Parquet, or set batch_rows = 0"
        )
    return reader


def label_suffixes() -> tuple[str, ...]:
    """The usual suffixes of files that labels can be written to."""
    return tuple(format.suffixes[0] for format in known_formats() if format.write)


def writes_labels(suffix: str) -> bool:
    """Whether labels can be written to files with this suffix."""
    format = _find(suffix)
    return format is not None and format.write is not None and suffix == format.suffixes[0]


def label_writer(target: Path, path: Path | None = None) -> Writer:
    """Create a writer of labels to `path` (default: `target`) in the format of `target`."""
    format = _find(target.suffix)
    if format is None or format.write is None or target.suffix.lower() != format.suffixes[0]:
        suffixes = " or ".join(label_suffixes())
        raise ConfigError(f"{target}: labels can only be written to {suffixes} files")
    return format.write(path or target)


def _find(suffix: str) -> Format | None:
    format = _by_suffix(suffix)
    if format is None:
        _load_installed()
        format = _by_suffix(suffix)
    return format


def _by_suffix(suffix: str) -> Format | None:
    lower = suffix.lower()
    return next((format for format in _formats if lower in format.suffixes), None)


@cache
def _load_installed() -> None:
    """Register the formats of installed packages, once and only when needed."""
    from importlib.metadata import entry_points  # slow to import

    for point in entry_points(group=ENTRY_POINTS):
        try:
            format = point.load()
            if not isinstance(format, Format):
                raise ConfigError(f"expected a Format, got {type(format).__name__}")
            register_format(format)
        except Exception as problem:  # of another package: it must not stop a study of CSV files
            warnings.warn(
                f"entry point {point.name!r} in group {ENTRY_POINTS} is not usable: {problem}",
                RuntimeWarning,
                stacklevel=2,
            )
