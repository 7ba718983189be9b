"""A server that plays with the forms of numbers, with two requests at once, and with sizes."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from fedclust.client.codec import decode
from fedclust.core.wire import Frame, pack, unpack
from fedclust.follow.agreement import agree, is_same
from fedclust.follow.entries import decode_entry
from fedclust.typing import Array

from ..support.damage import resealed
from ..support.following import tables
from .scenes import AUTHOR, Recorded, Scene, record_run
from .test_hostile_roundings import NUDGE, nudged

pytest.importorskip("cryptography")

CENTERS = "down.centers"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record_run(tmp_path_factory.mktemp("honest"), tables(4))


def first(value: float) -> Callable[[Array], Array]:
    """The same array with another first value."""

    def change(array: Array) -> Array:
        changed = array.copy()
        changed.flat[0] = value
        return changed

    return change


FORMS: dict[str, Callable[[Array], Array]] = {
    "not a number": first(float("nan")),
    "infinite": first(float("inf")),
    "minus infinite": first(float("-inf")),
    "the smallest number": first(5e-324),
    "minus zero": first(-0.0),
    "the largest number": first(1.7e308),
    "half as precise": lambda array: array.astype(np.float32),
    "integers": lambda array: array.view(np.int64),
    "booleans": lambda array: array > 0.5,
    "one centre more": lambda array: np.vstack([array, array[:1]]),
    "a million centres": lambda array: np.tile(array, (350_000, 1)),
    "no centre": lambda array: array[:0],
    "one long row": lambda array: array.reshape(1, -1),
    "one more axis": lambda array: array[None],
    "rows in another order": lambda array: array[::-1].copy(),
}


@pytest.mark.parametrize("name", FORMS)
def test_centres_in_another_form_are_never_answered(
    name: str, recorded: Recorded, tmp_path: Path
) -> None:
    """Nothing is computed, the study ends at the client, and the others are not affected."""
    scene = recorded.before(recorded.step("CMeans"), tmp_path)
    header, arrays = scene.request
    counted = scene.queries()
    crafted = Frame(header, {**arrays, CENTERS: FORMS[name](arrays[CENTERS])})
    answer = scene.ask(crafted)
    assert answer.header["kind"] == "refusal"
    assert answer.header["code"] in ("study", "request")
    assert not answer.arrays
    assert scene.queries() == counted
    assert scene.ask(scene.request).header["kind"] == "refusal", "it has left the study"
    assert scene.ask(scene.request, "c01").header["kind"] == "reply"


@pytest.mark.parametrize(
    ("key", "text"), [("tol", "1e400"), ("tol", "-1e400"), ("tol", "-0.0"), ("n_clusters", "3e0")]
)
def test_settings_in_another_form_change_nothing(
    key: str, text: str, recorded: Recorded, tmp_path: Path
) -> None:
    """JSON has numbers that Python reads as infinite; a client answers its own request or none."""
    scene = recorded.before(recorded.step("CMeans"), tmp_path)
    honest = scene.ask(scene.request, "c01")
    raw, value = pack(*scene.request), scene.request.header["settings"][key]
    old, new = (f'"{key}": {word}'.encode() for word in (json.dumps(value), text))
    assert raw.count(old) == 1
    length = int.from_bytes(raw[10:14], "little") + len(new) - len(old)
    crafted = raw[:10] + length.to_bytes(4, "little") + raw[14:].replace(old, new)
    answer = scene.ask(resealed(crafted), "c01")
    if answer.header["kind"] == "reply":
        assert all(np.array_equal(answer.arrays[n], a) for n, a in honest.arrays.items())
    else:
        assert answer.header["code"] in ("study", "request")


def test_equal_numbers_with_other_bits_are_not_the_same_request(recorded: Recorded) -> None:
    """Clients use the server's bits, or their own, but never some of each."""
    given = unpack(recorded.record.asked[recorded.step("CMeans")])
    decode_entry(given)  # which takes the replies of the step before out of it
    given.header.pop("step")
    zero, minus_zero = (first(value)(given.arrays[CENTERS]) for value in (0.0, -0.0))
    ours, same, other = (
        Frame(dict(given.header), {**given.arrays, CENTERS: centers})
        for centers in (zero, zero.copy(), minus_zero)
    )
    request = decode(ours)
    assert is_same(request, same)
    assert not is_same(request, other)
    assert agree(request, decode(other))


@pytest.mark.parametrize("restarted", [False, True])
def test_two_requests_at_once_are_answered_once(
    restarted: bool, recorded: Recorded, tmp_path: Path
) -> None:
    """The same step, with last bits up and down, at the same time: by threads or processes."""
    scene = recorded.before(recorded.step("CMeans"), tmp_path)
    requests = [nudged(scene.request, NUDGE), nudged(scene.request, -NUDGE)] * 3
    start, sites = Barrier(len(requests)), [scene.site("c00")] * len(requests)
    if restarted:
        sites = [another(scene) for _ in requests]

    def ask(number: int) -> Frame:
        start.wait()
        return unpack(sites[number].answer(pack(*requests[number]), AUTHOR))

    with ThreadPoolExecutor(len(requests)) as pool:
        answers = list(pool.map(ask, range(len(requests))))
    replies = {pack({}, a.arrays) for a in answers if a.header["kind"] == "reply"}
    assert len(replies) <= 1


def another(scene: Scene) -> Any:
    """Another process of the client, as it were."""
    scene.restart("c00")
    return scene.sites["c00"]
