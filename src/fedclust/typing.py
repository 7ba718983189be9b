"""Names for the types that the whole package uses."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]
Rng: TypeAlias = np.random.Generator
Better = Literal["lower", "higher"]  # which values are better; used in files and reports
