"""The type of every data set."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..typing import Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with optional labels, true centres and a natural client for each row."""

    name: str
    X: FloatArray  # (N, F)
    y: IntArray | None = None  # (N,)
    client: IntArray | None = None  # (N,)
    centers: FloatArray | None = None  # (C, F) true centres
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    client_names: tuple[str, ...] = ()
    extra: Mapping[str, Array] = field(default_factory=dict)  # other arrays of its file
