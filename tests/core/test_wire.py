"""Bytes on the wire: everything that is sent comes back, everything else is a MessageError."""

import json
import os
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fedclust.core import MessageError
from fedclust.core.wire import VERSION, checksum, pack, unpack

from ..support.damage import mutated, resealed

DTYPES = st.sampled_from(
    ["|b1", "|i1", "|u1", "<i2", ">i2", "<i4", "<i8", "<u8", "<f4", "<f8", ">f8"]
)
ARRAYS = DTYPES.flatmap(
    lambda dtype: hnp.arrays(
        dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    )
)
HEADERS = st.dictionaries(
    st.text(max_size=8).filter(lambda name: name != "arrays"),
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.lists(st.text(max_size=3)),
    max_size=4,
)


@given(HEADERS, st.dictionaries(st.text(max_size=8), ARRAYS, max_size=4))
def test_a_frame_survives_the_wire(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    back = unpack(pack(header, arrays))
    assert back.header == header
    assert list(back.arrays) == list(arrays)
    for name, array in arrays.items():
        assert back.arrays[name].shape == array.shape
        assert back.arrays[name].dtype == array.dtype.newbyteorder("<")
        np.testing.assert_array_equal(back.arrays[name], array)


def frame(header: Any, payload: bytes = b"", version: int = VERSION) -> bytes:
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    start = struct.pack("<8sHI", b"fedclust", version, len(text))
    return start + checksum(text + payload) + text + payload


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "too short"),
        (b"PK\x03\x04" + bytes(40), "not a fedclust message"),
        (frame({"arrays": []}, version=9), "version 9"),
        (frame(b"{"), "not JSON"),
        (frame(b"[" * 100_000), "not JSON"),
        (frame(b'{"arrays": NaN}'), "not JSON"),
        (frame(b"\xff\xfe"), "not JSON"),
        (frame([]), "not a JSON object"),
        (frame({}), "no list of arrays"),
        (frame({"arrays": ["x"]}), "each array as"),
        (frame({"arrays": [["x", "<f8", 3]]}), "each array as"),
        (frame({"arrays": [["x", "<f8", [1] * 5]]}, bytes(8)), "each array as"),
        (frame({"arrays": [["x", "|O8", [1]]]}, bytes(8)), "type not supported"),
        (frame({"arrays": [["x", ["<f8"], [1]]]}, bytes(8)), "type not supported"),
        (frame({"arrays": [["x", "<f8", [-1]]]}, bytes(8)), "invalid shape"),
        (frame({"arrays": [["x", "<f8", [True]]]}, bytes(8)), "invalid shape"),
        (frame({"arrays": [["x", "<f8", [0, 2**27, 2**27, 2**27]]]}), "invalid shape"),
        (frame({"arrays": [["x", "<f8", [2**27, 2**27]]]}), "cut off in array"),
        (frame({"arrays": [["x", "<f8", [2]]]}, bytes(15)), "cut off in array"),
        (frame({"arrays": [["x", "<f8", [2]]]}, bytes(17)), "follow the last"),
        (frame({"arrays": [["x", "<f8", [1]], ["x", "<f8", [1]]]}, bytes(16)), "twice"),
        (frame({"arrays": [["x", "|b1", [1]]]}, b"\x07"), "neither true nor false"),
        (frame({"arrays": []})[:-1], "cut off in its header"),
    ],
)
def test_what_is_no_frame_is_refused_with_a_reason(raw: bytes, says: str) -> None:
    with pytest.raises(MessageError, match=says):
        unpack(raw)


def test_nothing_oversized_is_read() -> None:
    raw = pack({}, {"x": np.zeros(100)})
    assert len(unpack(raw, limit=len(raw)).arrays["x"]) == 100
    with pytest.raises(MessageError, match="more than the"):
        unpack(raw, limit=len(raw) - 1)


@pytest.mark.parametrize(
    ("header", "arrays", "says"),
    [
        ({"x": float("nan")}, {}, "plain JSON values"),
        ({"x": {1, 2}}, {}, "plain JSON values"),
        ({"x": "y" * 2**20}, {}, "header has"),
        ({}, {"x": np.array(["text"])}, "cannot be sent"),
        ({}, {"x": np.array([1 + 2j])}, "cannot be sent"),
        ({}, {"x": np.zeros((1, 1, 1, 1, 1))}, "cannot be sent"),
    ],
)
def test_what_cannot_be_sent_is_not(header: Any, arrays: Any, says: str) -> None:
    with pytest.raises(MessageError, match=says):
        pack(header, arrays)


WHOLE = pack(
    {"kind": "reply", "answers": "q1", "round": 3},
    {"total": np.ones((3, 2)), "rows": np.arange(3), "flag": np.array([True, False])},
)


def test_no_damaged_frame_is_accepted() -> None:
    rng = np.random.default_rng(0)
    for _ in range(int(os.environ.get("FEDCLUST_MUTATIONS", "10000"))):
        raw = mutated(WHOLE, rng)
        if raw != WHOLE:
            with pytest.raises(MessageError):
                unpack(raw, limit=2 * len(WHOLE))


def test_frames_that_somebody_changed_are_frames_or_message_errors() -> None:
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(10_000):
        raw = resealed(mutated(WHOLE, rng))
        try:
            back = unpack(raw, limit=2 * len(WHOLE))
        except MessageError:
            refused += 1
        else:
            assert sum(a.nbytes for a in back.arrays.values()) <= len(raw) <= 2 * len(WHOLE)
    assert 1_000 < refused < 10_000  # some change numbers only, which is not the frame's affair
