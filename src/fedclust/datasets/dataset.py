"""The type of every data set: a table, and what is known about its rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..typing import Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table, what is known about it, and a natural owner of each row where there is one."""

    name: str
    X: FloatArray  # (N, F)
    y: IntArray | None = None  # (N,)
    client: IntArray | None = None  # (N,)
    centers: FloatArray | None = None  # (C, F) true centres
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    client_names: tuple[str, ...] = ()
    extra: Mapping[str, Array] = field(default_factory=dict)  # whatever else its file holds
