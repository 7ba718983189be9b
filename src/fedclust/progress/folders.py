"""Where a run is while it is not complete: hidden folders beside the folder it will have."""

from pathlib import Path

PROGRESS = "progress.jsonl"  # in either of these folders


def unfinished_folder(folder: Path) -> Path:
    """Where a run is written until it is complete."""
    whole = folder.absolute()  # "." has no name
    return whole.with_name(f".{whole.name}.unfinished")


def federation_folder(folder: Path) -> Path:
    """Where the command and the job of a study across machines exchange files."""
    whole = folder.absolute()
    return whole.with_name(f".{whole.name}.federation")
