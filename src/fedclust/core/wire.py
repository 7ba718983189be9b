"""Bytes on the message_dtype: a JSON header and named arrays, nothing that could run.

A frame is ``fedclust`` and a version, the length of the header, a checksum of what follows, the
header, and the arrays' bytes one after the other as the header announces them. Whatever arrives is
a frame or a MessageError. The checksum is against accidents; against people there is TLS.
"""

import json
import struct
from collections.abc import Mapping
from hashlib import blake2b
from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..typing import Array
from .errors import MessageError

VERSION = 1
LARGEST = 256 * 2**20  # bytes of a frame, unless a channel says otherwise
_MAGIC = b"fedclust"
_START = struct.Struct("<8sHI8s")  # magic, version, length of the header, checksum
_LARGEST_HEADER = 2**20
_MOST_AXES = 4
_MOST_NUMBERS = 2**56
_DTYPES = ("|b1", "|i1", "|u1", *(f"<{k}{n}" for k in "iu" for n in (2, 4, 8)), "<f4", "<f8")


class Frame(NamedTuple):
    """What a sequence of bytes says."""

    header: dict[str, Any]
    arrays: dict[str, Array]


def pack(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The bytes of a frame; the header must be plain JSON values."""
    ready = {name: _little_endian(name, array) for name, array in arrays.items()}
    table = [[name, a.dtype.str, list(a.shape)] for name, a in ready.items()]
    try:
        text = json.dumps({**header, "arrays": table}, allow_nan=False).encode()
    except (TypeError, ValueError) as problem:
        raise MessageError(f"a header of plain values is needed ({problem})") from None
    if len(text) > _LARGEST_HEADER:
        raise MessageError(f"the header has {len(text)} bytes, more than {_LARGEST_HEADER}")
    body = b"".join([text, *(a.tobytes() for a in ready.values())])
    return _START.pack(_MAGIC, VERSION, len(text), checksum(body)) + body


def checksum(body: bytes) -> bytes:
    """What changes when a bit of the body does."""
    return blake2b(body, digest_size=8).digest()


def unpack(raw: bytes, limit: int = LARGEST) -> Frame:
    """The frame that some bytes are; nothing is computed or allocated beyond what came."""
    if len(raw) > limit:
        raise MessageError(f"{len(raw)} bytes came, more than the {limit} allowed")
    if len(raw) < _START.size:
        raise MessageError("not a message of fedclust: it is too short")
    magic, version, length, sealed = _START.unpack_from(raw)
    if magic != _MAGIC:
        raise MessageError("not a message of fedclust")
    if version != VERSION:
        raise MessageError(
            f"a message of version {version} came, version {VERSION} is understood here; "
            "install the same fedclust on both sides"
        )
    begin = _START.size + length
    if length > _LARGEST_HEADER or begin > len(raw):
        raise MessageError("the message ends before its header does")
    if checksum(raw[_START.size :]) != sealed:
        raise MessageError("the message was damaged on its way: its checksum does not fit")
    header = _header(raw[_START.size : begin])
    return Frame(header, _arrays(header.pop("arrays", None), raw, begin))


def _little_endian(name: str, array: Any) -> Array:
    found = np.asarray(array, order="C")
    found = found.astype(found.dtype.newbyteorder("<"), copy=False)
    if found.dtype.str not in _DTYPES or found.ndim > _MOST_AXES:
        raise MessageError(f"{name!r} is no array of numbers ({found.dtype}, {found.ndim} axes)")
    return found


def _header(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # UnicodeDecodeError is one
        raise MessageError("the header is not JSON") from None
    if not isinstance(found, dict):
        raise MessageError("the header is not a table")
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(word)


def _arrays(table: Any, raw: bytes, begin: int) -> dict[str, Array]:
    if not isinstance(table, list):
        raise MessageError("the header does not say which arrays follow")
    found: dict[str, Array] = {}
    for entry in table:
        name, dtype, shape = _entry(entry)
        if name in found:
            raise MessageError(f"the array {name!r} comes twice")
        size = prod(shape) * dtype.itemsize
        if size > len(raw) - begin:
            raise MessageError(f"the message ends before its array {name!r} does")
        # A copy: what lies in the frame need not be aligned, and must not keep all of it alive.
        flat = np.frombuffer(raw, dtype, count=prod(shape), offset=begin).copy()
        if dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
            raise MessageError(f"{name!r} holds bytes that are neither true nor false")
        found[name] = flat.reshape(shape)
        begin += size
    if begin != len(raw):
        raise MessageError(f"{len(raw) - begin} bytes follow the last array")
    return found


def _entry(entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    if not isinstance(entry, list) or len(entry) != 3:
        raise MessageError("an array is announced by its name, type and shape")
    name, dtype, shape = entry
    if not isinstance(name, str) or not isinstance(shape, list) or len(shape) > _MOST_AXES:
        raise MessageError("an array is announced by its name, type and shape")
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise MessageError(f"{name[:40]!r} has a type that is not sent")
    wrong = any(type(n) is not int or not 0 <= n <= LARGEST for n in shape)
    if wrong or prod(max(n, 1) for n in shape) > _MOST_NUMBERS:  # NumPy minds even where one is 0
        raise MessageError(f"{name[:40]!r} has a shape that cannot be")
    return name, np.dtype(dtype), tuple(shape)
