"""Whether a request of the server is the one that a client has computed itself.

Names, integers, texts and shapes must be equal. Real numbers may differ by rounding: processors
and BLAS libraries add in different orders. The server's numbers are then used, so that the masks
of all clients cancel. Within the tolerance the server can do nothing with them: it chooses the last
bits of a number once for all steps and runs (`roundings`), so that it cannot compare two choices,
and a sum changes only if a row lies within the tolerance of the border of two clusters. Centres may
differ by a share of the distance of the two nearest ones, and not of the bounds, and variances by
a share of themselves: a study with very wide bounds would otherwise leave the server a free choice.
"""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from ..client.codec import encode
from ..client.requests import AnyRequest, RunRound
from ..core import Plan
from ..core.codec import ROUND, encode_plan
from ..core.identity import once_per_object
from ..core.wire import Frame
from ..kernels import sq_distances
from ..privacy.crypto import digest
from ..privacy.queries import array_parts, plan_digest
from ..typing import Array

TOLERANCE = 2.0**-32  # rounding is a thousand times smaller
_ROUNDING = 2.0**-44  # of the largest value: no finer than the grid of integer sums


def as_frame(request: AnyRequest) -> Frame:
    """A request as plain values and arrays; a round without the form of its rows."""
    if not isinstance(request, RunRound):
        kind, header, arrays = encode(request)
        return Frame({"kind": kind, **header}, arrays)
    plan, asked = _plan_frame(request.plan), request.request
    header = {**plan.header, "round": asked.round, "cohort": list(asked.cohort)}
    down = {f"down.{n}": a for n, a in asked.down.arrays().items()}
    return Frame(header, {**plan.arrays, **down})


@once_per_object
def _plan_frame(plan: Plan) -> Frame:
    """A plan as plain values and arrays, which a round of it repeats."""
    header, arrays = encode_plan(plan)
    return Frame(json.loads(json.dumps(header)), arrays)


def agree(expected: AnyRequest, given: AnyRequest) -> bool:
    """Whether both are the same request, up to rounding."""
    if type(expected) is not type(given):
        return False
    if not _rows_agree(expected, given):
        return False
    ours, theirs = as_frame(expected), as_frame(given)
    if ours.header == theirs.header:  # the usual case; comparing value by value takes longer
        return _arrays_agree(ours.arrays, theirs.arrays)
    return _values_agree(ours.header, theirs.header) and _arrays_agree(ours.arrays, theirs.arrays)


def is_same(expected: AnyRequest, frame: Frame) -> bool:
    """Whether a frame holds exactly the expected request; it need not be decoded then."""
    if not isinstance(expected, RunRound):
        return False  # such requests are few
    header, arrays = as_frame(expected)
    theirs = frame.header
    if any(name not in theirs or theirs[name] != header[name] for name in header):
        return False
    return (
        theirs.get("kind") == ROUND
        and arrays.keys() == frame.arrays.keys()
        and all(_identical(arrays[name], frame.arrays[name]) for name in arrays)
        and theirs.get("data") == expected.rows.plain
    )


def asked_digest(request: AnyRequest) -> bytes:
    """A request in a hash, for the seals of the replies to it."""
    if not isinstance(request, RunRound):
        kind, header, arrays = encode(request)
        return digest(kind.encode(), repr(sorted(header.items())).encode(), *array_parts(arrays))
    asked = request.request
    names = (client.encode() for client in asked.cohort)
    return digest(
        plan_digest(request.plan),
        str(asked.round).encode(),
        request.rows.key,
        digest(*names),
        *array_parts(asked.down.arrays()),
    )


def describe(request: AnyRequest) -> str:
    """A request in a few words, for refusals."""
    if isinstance(request, RunRound):
        return f"{request.plan.algorithm.key}, round {request.request.round}"
    return type(request).__name__


def _rows_agree(expected: AnyRequest, given: AnyRequest) -> bool:
    """Whether two rounds want the same rows; most often the same object in canonical bytes."""
    if not isinstance(expected, RunRound) or not isinstance(given, RunRound):
        return True
    ours, theirs = expected.rows, given.rows
    if type(ours) is not type(theirs):
        return False
    return ours.key == theirs.key or _values_agree(ours.as_config(), theirs.as_config())


def _values_agree(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        near = isfinite(theirs) and abs(ours - theirs) <= TOLERANCE * abs(ours)
        return bool(near or ours == theirs)
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        same = ours.keys() == theirs.keys()
        return same and all(_values_agree(ours[name], theirs[name]) for name in ours)
    if _is_list(ours) and _is_list(theirs):
        same = len(ours) == len(theirs)
        return same and all(_values_agree(a, b) for a, b in zip(ours, theirs, strict=True))
    return bool(type(ours) is type(theirs) and ours == theirs)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _arrays_agree(ours: Mapping[str, Array], theirs: Mapping[str, Array]) -> bool:
    return ours.keys() == theirs.keys() and all(is_close(n, ours[n], theirs[n]) for n in ours)


def _identical(ours: Array, theirs: Array) -> bool:
    a = np.asarray(ours)
    return a.dtype == theirs.dtype and a.shape == theirs.shape and a.tobytes() == theirs.tobytes()


def is_close(name: str, ours: Array, theirs: Array) -> bool:
    """Whether two arrays of requests with that name differ by no more than rounding."""
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    if np.array_equal(a, b):
        return True
    return bool(np.isfinite(b).all() and (np.abs(a - b) <= _tolerance(name, a)).all())


def _tolerance(name: str, a: Array) -> Any:
    """How much the numbers of an array may differ, by what they mean."""
    size = np.abs(a)
    largest = size.max(axis=0, initial=0.0)  # of each column
    match name.rpartition(".")[2]:
        case "centers" | "init" | "seeds" if a.ndim == 2:
            return max(_ROUNDING * float(largest.max()), TOLERANCE * _nearest_two(a))
        case "variance" | "share" | "density":
            return np.maximum(_ROUNDING * largest, TOLERANCE * size)
    return TOLERANCE * float(np.max(largest))


def _nearest_two(points: Array) -> float:
    """The smallest distance of two different points; zero if there is none."""
    apart = np.sqrt(sq_distances(points, points))
    return float(apart[apart > 0].min()) if apart.any() else 0.0
