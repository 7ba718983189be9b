"""Settings for reading data files: a study and every client.toml have these keys."""

from dataclasses import dataclass
from typing import Annotated

from ..settings import Key
from .values import NA_VALUES


@dataclass(frozen=True, kw_only=True)
class FileSettings:
    """How data files are read."""

    id: Annotated[str | None, Key("column that identifies records; it is never a feature")] = None
    na_values: Annotated[
        tuple[str, ...], Key("strings in text files that stand for a missing value")
    ] = NA_VALUES
    batch_rows: Annotated[
        int | None,
        Key("rows per batch; 0: no batches; without it, files of 1 GB or more in batches", low=0),
    ] = None
