"""What an algorithm declares about itself, so that other packages need not know it by name.

`Traits` are properties of the class. A `Role` is a property of one parameter: it says which of the
client's limits the parameter falls under. Roles stand in the annotation of the field:

    local_steps: Annotated[int, Work(10_000)] = 5
"""

from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from .errors import ConfigError

_HARMLESS = {bool, float, str, NoneType}  # a client's work does not grow with such values


@dataclass(frozen=True)
class Traits:
    """What holds for all instances of an algorithm class."""

    soft: bool = False  # assigns memberships, not labels
    counted: bool = False  # messages include the number of records of each cluster
    conserves: bool = False  # sums over all clusters are the same in every round
    means: bool = False  # broadcast centres are means of records, so they lie within the bounds
    additive: bool = False  # a client's message is the sum of those of its rows
    samples: bool = False  # a sample of many rows does as well as all of them
    one_pass: bool = False  # takes rows one by one: their order matters, and weights are not copies
    draws: bool = False  # client steps draw random numbers
    one_client: bool = False  # only a single client, drawn at random, takes part
    reads_rows: bool = True  # replies depend on the client's rows, and count as queries
    missing: bool = False  # accepts rows with missing cells (NaN); all others refuse them
    categories: bool = False  # columns of 0 and 1 of the same category column belong together
    likelihood: bool = False  # runs have a likelihood, by which numbers of clusters are compared
    weighs: bool = False  # distances, in which categories have a weight against numbers
    needs_masks: bool = False  # sums of few rows show them, and averaged rows give other results
    bounded: bool = False  # has `sensitivity`: one record changes a message by a known amount
    boundable: bool = False  # `BoundedCMeans` can take its place where noise is added


class Role(Enum):
    """Which limit of a client a parameter falls under."""

    CLUSTERS = "max_clusters"  # at most the client's max_clusters; of an array, its rows
    BINS = "max_bins"  # at most the client's max_bins
    RECORDS = "min_count"  # records behind a number: at least the client's min_count
    COLUMNS = "columns"  # an array with an entry per column: no more than there are columns
    FREE = "free"  # costs clients nothing: seeds, work of the server, rounds (clients count them)


@dataclass(frozen=True)
class Work:
    """The role of a parameter by which a client's work grows: no client goes beyond `most`."""

    most: int


@dataclass(frozen=True)
class Parameter:
    """A parameter that clients limit."""

    name: str
    role: Role | Work
    is_integer: bool

    def size(self, value: Any) -> int:
        """What a limit is held against: an integer itself, or the length of an array or tuple."""
        if self.is_integer:
            if isinstance(value, int | np.integer) and not isinstance(value, bool):
                return int(value)
        elif isinstance(value, str):
            return 1
        elif isinstance(value, tuple) or (isinstance(value, np.ndarray) and value.ndim):
            return len(value)
        wanted = "an integer" if self.is_integer else "an array"
        raise ConfigError(f"{self.name} must be {wanted}, got {type(value).__name__}")


@cache
def limited_parameters(kind: type[Any]) -> tuple[Parameter, ...]:
    """The parameters of an algorithm class that have a role; integers and arrays must have one.

    Without a role nothing would limit what a server can make a client compute.
    """
    hints = get_type_hints(kind, include_extras=True)
    parameters = []
    for name in [field.name for field in fields(kind)]:
        types = _types(hints[name])
        role = next((r for r in _annotations(hints[name]) if isinstance(r, Role | Work)), None)
        if role is not None:
            parameters.append(Parameter(name, role, int in types))
        elif not types <= _HARMLESS:
            raise ConfigError(
                f"{kind.__name__}.{name} needs a role that says how clients limit it, such as "
                f"`{name}: Annotated[int, Work(1_000)]` (see fedclust.core.Role)"
            )
    return tuple(parameters)


def _annotations(hint: Any) -> tuple[Any, ...]:
    return hint.__metadata__ if get_origin(hint) is Annotated else ()


def _types(hint: Any) -> set[Any]:
    """The types that a hint allows."""
    if get_origin(hint) is Annotated:
        return _types(hint.__origin__)
    if get_origin(hint) in (Union, UnionType):
        return set().union(*map(_types, get_args(hint)))
    return {hint}
