"""The wire format: a JSON header and named arrays, and no code.

A frame is ``fedclust`` and a version, the length of the header, a checksum of what follows, the
header, and the bytes of the arrays in the order of the header. Bytes that are not a valid frame
raise a MessageError. The checksum detects accidents; TLS protects against attackers.
"""

import json
import struct
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple, NoReturn
from zlib import crc32

import numpy as np

from ..typing import Array
from .errors import MessageError

VERSION = 2
LARGEST = 256 * 2**20  # bytes of a frame, unless a channel sets another limit
_MAGIC = b"fedclust"
_START = struct.Struct("<8sHI8s")  # magic, version, length of the header, checksum
_SUM = struct.Struct("<II")
_LARGEST_HEADER = 2**20
_MAX_AXES = 4
_MAX_ELEMENTS = 2**56
_DTYPES = ("|b1", "|i1", "|u1", *(f"<{k}{n}" for k in "iu" for n in (2, 4, 8)), "<f4", "<f8")


class Frame(NamedTuple):
    """The decoded content of a message."""

    header: dict[str, Any]
    arrays: dict[str, Array]


def pack(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Encode a frame; the header must hold plain JSON values."""
    return b"".join(pack_parts(header, arrays))


def pack_parts(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> list[bytes | memoryview]:
    """The bytes of a frame in several parts, for a file: large arrays are not copied."""
    ready = {name: _little_endian(name, array) for name, array in arrays.items()}
    table = [[name, a.dtype.str, list(a.shape)] for name, a in ready.items()]
    try:
        text = json.dumps({**header, "arrays": table}, allow_nan=False).encode()
    except (TypeError, ValueError) as problem:
        raise MessageError(f"the header must hold plain JSON values ({problem})") from None
    if len(text) > _LARGEST_HEADER:
        raise MessageError(f"the header has {len(text)} bytes, more than {_LARGEST_HEADER}")
    parts = [memoryview(text), *(a.reshape(-1).view(np.uint8).data for a in ready.values())]
    return [_START.pack(_MAGIC, VERSION, len(text), checksum(*parts)), *parts]


def checksum(*parts: bytes | memoryview) -> bytes:
    """CRC-32 and length of the body, by which damage is detected."""
    found = size = 0
    for part in parts:
        found, size = crc32(part, found), size + len(part)
    return _SUM.pack(found, size % 2**32)


def unpack(raw: bytes, limit: int = LARGEST) -> Frame:
    """Decode a frame; it allocates no more memory than the bytes it is given."""
    if len(raw) > limit:
        raise MessageError(f"the message has {len(raw)} bytes, more than the {limit} allowed")
    if len(raw) < _START.size:
        raise MessageError("not a fedclust message: it is too short")
    magic, version, length, expected = _START.unpack_from(raw)
    if magic != _MAGIC:
        raise MessageError("not a fedclust message")
    if version != VERSION:
        raise MessageError(
            f"the message has format version {version}, this fedclust reads version {VERSION}; "
            "install the same fedclust on both sides"
        )
    begin = _START.size + length
    if length > _LARGEST_HEADER or begin > len(raw):
        raise MessageError("the message is cut off in its header")
    if checksum(memoryview(raw)[_START.size :]) != expected:
        raise MessageError("the message was damaged in transit: its checksum does not match")
    header = _decode_header(raw[_START.size : begin])
    return Frame(header, _decode_arrays(header.pop("arrays", None), raw, begin))


def _little_endian(name: str, array: Any) -> Array:
    ordered = np.asarray(array, order="C")
    ordered = ordered.astype(ordered.dtype.newbyteorder("<"), copy=False)
    if ordered.dtype.str not in _DTYPES or ordered.ndim > _MAX_AXES:
        raise MessageError(
            f"array {name!r}: cannot be sent ({ordered.dtype} with {ordered.ndim} axes); only "
            f"numbers with at most {_MAX_AXES} axes can"
        )
    return ordered


def _decode_header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):  # UnicodeDecodeError is one
        raise MessageError("the header is not JSON") from None
    if not isinstance(header, dict):
        raise MessageError("the header is not a JSON object")
    return header


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(word)


def _decode_arrays(table: Any, raw: bytes, begin: int) -> dict[str, Array]:
    if not isinstance(table, list):
        raise MessageError("the header has no list of arrays")
    arrays: dict[str, Array] = {}
    for entry in table:
        name, dtype, shape = _decode_entry(entry)
        if name in arrays:
            raise MessageError(f"array {name!r} occurs twice")
        size = prod(shape) * dtype.itemsize
        if size > len(raw) - begin:
            raise MessageError(f"the message is cut off in array {name!r}")
        # A copy: arrays in the frame may not be aligned, and a view would keep all bytes in memory.
        flat = np.frombuffer(raw, dtype, count=prod(shape), offset=begin).copy()
        if dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
            raise MessageError(f"array {name!r}: holds bytes that are neither true nor false")
        arrays[name] = flat.reshape(shape)
        begin += size
    if begin != len(raw):
        raise MessageError(f"{len(raw) - begin} bytes follow the last array")
    return arrays


def _decode_entry(entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    if not isinstance(entry, list) or len(entry) != 3:
        raise MessageError("the header must list each array as [name, type, shape]")
    name, dtype, shape = entry
    if not isinstance(name, str) or not isinstance(shape, list) or len(shape) > _MAX_AXES:
        raise MessageError("the header must list each array as [name, type, shape]")
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise MessageError(f"array {name[:40]!r}: type not supported")
    invalid = any(type(n) is not int or not 0 <= n <= LARGEST for n in shape)
    if invalid or prod(max(n, 1) for n in shape) > _MAX_ELEMENTS:  # NumPy raises even if one is 0
        raise MessageError(f"array {name[:40]!r}: invalid shape")
    return name, np.dtype(dtype), tuple(shape)
