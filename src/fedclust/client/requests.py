"""Forms of rows: what a request may ask a client to read, understood before any row is read."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..clustering.preparation import Column, Preparation
from ..core import MessageError, Schema

OFFER, ALIGN, FINISH = "offer", "align", "finish"  # kinds of requests to owners of columns
OWNED, SHARED = "owned", "shared"  # in the `data` of a round: what is wanted, and of which records

# Beyond these a scale is no scale, but a question: at which one do values become too large?
_LARGEST, _SMALLEST = 1e30, 1e-30


@dataclass(frozen=True, eq=False)
class Form:
    """Columns as numbers, gaps and all; or, with a preparation, rows as they are clustered."""

    columns: tuple[Column, ...]
    preparation: Preparation | None = None

    @property
    def schema(self) -> Schema:
        """Of rows in this form, with public bounds if every column has some."""
        if self.preparation is not None:
            return self.preparation.schema()
        return Schema(sum(len(column.encoded_names) for column in self.columns))


def is_owned(data: Any) -> bool:
    """Whether a round is about split columns."""
    return isinstance(data, dict) and OWNED in data


def form_of(wanted: Any) -> Form:
    """The form that a request describes."""
    if not isinstance(wanted, dict):
        raise MessageError("the request does not say of which rows")
    if "preparation" not in wanted:
        return Form(tuple(columns_of(wanted.get("columns"))))
    ready = preparation_of(wanted["preparation"])
    return Form(ready.columns, ready)


def columns_of(given: Any) -> list[Column]:
    """The columns of a request."""
    try:
        found = [Column(**{**c, "categories": tuple(c["categories"])}) for c in given]
    except (TypeError, KeyError, ValueError, AttributeError):
        raise MessageError("the request's columns are not readable") from None
    if not found or not all(isinstance(c.name, str) for c in found):
        raise MessageError("the request names no columns")
    return found


def preparation_of(given: Any) -> Preparation:
    """The preparation of a request."""
    try:
        found = Preparation.from_config(given)
    except (TypeError, KeyError, ValueError, AttributeError):
        raise MessageError("the request's preparation is not readable") from None
    wrong = any(len(a) != len(found.names) for a in (found.offset, found.scale))
    if wrong or not np.isfinite([found.offset, found.scale]).all() or not (found.scale > 0).all():
        raise MessageError("the request's preparation has no usable scale")
    if (
        found.scale.min() < _SMALLEST
        or max(found.scale.max(), np.abs(found.offset).max()) > _LARGEST
    ):
        raise MessageError("the request's preparation has a scale that no data need")
    if found.fill is not None and len(found.fill) != len(found.names):
        raise MessageError("the request's preparation does not fill all columns")
    return found
