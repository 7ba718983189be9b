"""The last bits of numbers, which the server may choose once.

Two machines round differently, so that a client takes the numbers of the server if they agree with
its own up to rounding. A server that could choose twice would compare totals at centres that differ
in their last bits: they differ by the rows on the border of two clusters. Whatever a client has
computed itself therefore stands for the same bits of the server in all steps, runs and studies.
"""

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from io import FileIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..client.requests import AnyRequest, RowForm, RunRound
from ..core import Plan
from ..core.codec import encode_plan
from ..core.files import append_to, lock
from ..core.identity import once_per_object
from ..core.wire import Frame
from ..privacy.crypto import digest
from ..typing import Array
from .agreement import as_frame

_HASH = 16  # bytes
_RECORD = 2 * _HASH

Pair = tuple[bytes, bytes]  # hashes of a client's numbers and of the server's


class Roundings:
    """The numbers of a client and those of the server that stood for them, in a file."""

    def __init__(self, file: Path) -> None:
        self._file, self._read = file, 0
        self._known: dict[bytes, bytes] = {}

    def settle(self, pairs: Iterable[Pair]) -> bool:
        """Note which numbers stand for which; False if others have stood for them before."""
        with open(self._file, "a+b", buffering=0) as file:
            lock(file)
            self._catch_up(file)
            known, new = self._known, dict[bytes, bytes]()
            for ours, theirs in pairs:
                chosen = known.get(ours) or new.setdefault(ours, theirs)
                if chosen != theirs:
                    return False
            raw = b"".join(chain.from_iterable(new.items()))
            append_to(file, [raw], sync=False)
        known |= new
        self._read += len(raw)
        return True

    def _catch_up(self, file: FileIO) -> None:
        if os.fstat(file.fileno()).st_size == self._read:
            return
        file.seek(self._read)
        raw = file.read()
        if len(raw) % _RECORD:  # a crash while writing
            file.truncate(self._read + len(raw) // _RECORD * _RECORD)
        for start in range(0, len(raw) - _RECORD + 1, _RECORD):
            self._known[raw[start : start + _HASH]] = raw[start + _HASH : start + _RECORD]
            self._read += _RECORD


def pair_numbers(expected: AnyRequest, given: AnyRequest) -> list[Pair]:
    """Real numbers of two requests that agree: each row of an array, settings, forms of rows."""
    ours = _hash_numbers(expected)
    return list(zip(ours, ours if given is expected else _hash_numbers(given), strict=True))


def _hash_numbers(request: AnyRequest) -> list[bytes]:
    if not isinstance(request, RunRound):
        return _hash_frame(as_frame(request))
    down = {f"down.{n}": a for n, a in request.request.down.arrays().items()}
    return [_hash_form(request.rows), *_hash_plan(request.plan), *_hash_arrays(down)]


@once_per_object
def _hash_form(rows: RowForm) -> bytes:
    return _hash(rows.key)


@once_per_object
def _hash_plan(plan: Plan) -> list[bytes]:
    return _hash_frame(encode_plan(plan))


def _hash_frame(frame: Frame) -> list[bytes]:
    header, arrays = frame
    what = str(header.get("algorithm", "")).encode()
    return [_hash(what, repr(_reals(header)).encode()), *_hash_arrays(arrays)]


def _hash_arrays(arrays: Mapping[str, Array]) -> list[bytes]:
    found = []
    for name, array in arrays.items():
        if np.asarray(array).dtype.kind == "f":
            found += _hash_rows(name, np.asarray(array))
    return found


def _hash_rows(name: str, array: Array) -> list[bytes]:
    """Row by row: the same centres may come in another order."""
    rows = np.ascontiguousarray(np.atleast_1d(array))
    raw, start = rows.tobytes(), name.encode() + b"\0"
    width = max(1, len(raw) // max(1, len(rows)))
    return [
        blake2b(start + raw[place : place + width], digest_size=_HASH).digest()
        for place in range(0, len(raw), width)
    ]


def _hash(*parts: bytes) -> bytes:
    return digest(*parts)[:_HASH]


def _reals(value: Any) -> list[float]:
    """All real numbers of plain values."""
    if isinstance(value, float):
        return [float(value)]
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if not isinstance(value, list | tuple):
        return []
    return [real for part in value if not isinstance(part, str) for real in _reals(part)]
