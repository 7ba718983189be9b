"""A server that relays other replies than the clients sent."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.core.wire import Frame, pack, unpack
from fedclust.follow.entries import Entry, decode_entry, encode_entry
from fedclust.follow.followed_run import FollowedRun
from fedclust.follow.seals import Sealer
from fedclust.privacy.crypto import exchange_public, fresh_secret, signature, signing_public
from fedclust.privacy.keyring import offered

from ..support.damage import mutated, resealed
from ..support.following import tables
from .scenes import AUTHOR, Recorded, Scene, is_refused, record_run

pytest.importorskip("cryptography")

ROWS = tables(5)
Forge = Callable[[Entry, "Forger"], Entry]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record_run(tmp_path_factory.mktemp("honest"), ROWS)


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory, recorded: Recorded) -> Recorded:
    """Another run of the same study by the same clients."""
    there, folder = recorded.federation, tmp_path_factory.mktemp("second")
    record = type(recorded.record)(there, folder / "shelf")
    there.run(folder / "out", record, run="b" * 16)
    return Recorded(there, record)


class Forger:
    """What the server has: all entries of two runs."""

    def __init__(self, recorded: Recorded, second: Recorded, step: int) -> None:
        self.step = step
        self.here, self.there = recorded, second

    def entry(self, step: int, run: Recorded | None = None) -> Entry:
        """The replies of a step, as the request after it carries them."""
        found = decode_entry(unpack((run or self.here).record.asked[step + 1]))
        assert found is not None
        return found


def added(entry: Entry, client: int, by: int = 1) -> Entry:
    words = entry.words.copy()
    words[client, 0] += by
    return replace(entry, words=words)


def kept(entry: Entry, rows: list[int]) -> Entry:
    """Some of the replies, in an order."""
    values = tuple(entry.values[n] for n in rows) if entry.values else ()
    return replace(
        entry,
        clients=tuple(entry.clients[n] for n in rows),
        words=entry.words[rows] if entry.is_round else entry.words,
        values=values,
        seals=entry.seals[rows],
    )


def with_own_key(entry: Entry, forger: Forger) -> Entry:
    """The server's key in the place of a client's, signed by an identity of the server."""
    run = unpack(forger.here.record.asked[entry.step]).header["settings"]["run"]
    secret, identity = fresh_secret(), fresh_secret()
    public = exchange_public(secret)
    raw = public + signing_public(identity) + signature(identity, offered(run, public))
    words = entry.words.copy()
    words[1] = np.frombuffer(raw, np.uint8)
    return replace(entry, words=words)


def relabelled(entry: Entry, forger: Forger) -> Entry:
    """The replies of the round before, as if they were those of this one."""
    earlier = forger.entry(forger.step - 1)
    assert earlier.layout == entry.layout, "two rounds of one plan"
    return replace(earlier, step=entry.step)


def with_seals_of_another(entry: Entry, forger: Forger) -> Entry:
    """Each reply with the tags of the client after it."""
    return replace(entry, seals=np.roll(entry.seals, 1, axis=0))


def with_layout(change: Callable[[Any], Any]) -> Forge:
    return lambda entry, forger: replace(entry, layout=tuple(map(change, entry.layout)))


def from_another_run(entry: Entry, forger: Forger) -> Entry:
    return forger.entry(forger.step, forger.there)


def one_of_another_run(entry: Entry, forger: Forger) -> Entry:
    other, words, seals = from_another_run(entry, forger), entry.words.copy(), entry.seals.copy()
    words[2], seals[2] = other.words[2], other.seals[2]
    return replace(entry, words=words, seals=seals)


def with_problem(entry: Entry, forger: Forger) -> Entry:
    """A client is said to have unusable data, so that the others go on without it."""
    claimed = {"problems": [["x0", "not-numeric", True]], "numbers": []}
    return replace(entry, values=(*entry.values[:-1], claimed))


FORGERIES: dict[str, tuple[str, int, Forge]] = {  # the step whose replies are forged
    "another sum": ("CMeans", 0, lambda entry, forger: added(entry, 1)),
    "another own reply": ("CMeans", 0, lambda entry, forger: added(entry, 0)),
    "others, with the same sum": (
        "CMeans",
        0,
        lambda entry, forger: added(added(entry, 1), 2, -1),
    ),
    "one reply less": ("CMeans", 0, lambda entry, forger: kept(entry, [0, 1, 2, 3])),
    "another order": ("CMeans", 0, lambda entry, forger: kept(entry, [0, 2, 1, 3, 4])),
    "the total alone": ("CMeans", 0, lambda entry, forger: replace(entry, words=entry.total[None])),
    "the round before": ("CMeans", 1, relabelled),
    "another run": ("CMeans", 0, from_another_run),
    "one of another run": ("CMeans", 0, one_of_another_run),
    "tags of others": ("CMeans", 0, with_seals_of_another),
    "no seals": ("CMeans", 0, lambda entry, forger: entry.kept(summed=False)),
    "half of the seals": (
        "CMeans",
        0,
        lambda entry, forger: replace(entry, seals=entry.seals[:, :32]),
    ),
    "floats": ("CMeans", 0, with_layout(lambda part: (part[0], "<f8", part[2]))),
    "objects": ("CMeans", 0, with_layout(lambda part: (part[0], "O", part[2]))),
    "another shape": ("CMeans", 0, with_layout(lambda part: (*part[:2], part[2][::-1]))),
    "shapes below zero": (
        "CMeans",
        0,
        with_layout(lambda part: (*part[:2], tuple(-n for n in part[2]) + (-1,) * len(part[2]))),
    ),
    "without this client": ("CMeans", 0, lambda entry, forger: kept(entry, [1, 2, 3, 4])),
    "counts of cells": ("CellSeeding", 0, lambda entry, forger: added(entry, 1, 2**40)),
    "another key": ("KeyExchange", 0, with_own_key),
    "keys of another run": ("KeyExchange", 0, from_another_run),
    "keys of fewer, unsealed": (
        "KeyExchange",
        0,
        lambda entry, forger: kept(entry, [0, 1, 2]).kept(summed=False),
    ),
    "a problem that nobody has": ("preflight", 0, with_problem),
    "reports in another order": (
        "preflight",
        0,
        lambda entry, forger: kept(entry, [4, 3, 2, 1, 0]),
    ),
    "nobody's report": (
        "preflight",
        0,
        lambda entry, forger: replace(
            kept(entry, []), seals=np.empty((0, 0), np.uint8)
        ),
    ),
    "a reply of a round": ("preflight", 0, lambda entry, forger: replace(
        forger.entry(forger.here.step("CMeans")), step=entry.step)),
    "values for a round": ("CMeans", 0, lambda entry, forger: replace(
        forger.entry(forger.here.step("preflight")), step=entry.step)),
}  # fmt: skip


def catch_up(entry: Entry, run: str = "a1b2c3d4e5f60718") -> bytes:
    header, arrays = encode_entry(entry)
    about = {"kind": "catch-up", "id": f"{run}/catch-up", "about": {"study": "s"}}
    return pack({**about, **header}, arrays)


def forged(name: str, recorded: Recorded, second: Recorded, folder: Path) -> tuple[Scene, Entry]:
    """The clients after a step, before they have seen the replies, and forged replies."""
    what, round, forge = FORGERIES[name]
    step = recorded.step(what, round)
    scene = recorded.before(step + 1, folder)
    forger = Forger(recorded, second, step)
    return scene, forge(forger.entry(step), forger)


def position(answer: Frame) -> int | None:
    return answer.header["values"]["next"] if answer.header["kind"] == "reply" else None


@pytest.mark.parametrize("name", FORGERIES)
def test_only_sealed_replies_are_believed(
    name: str, recorded: Recorded, second: Recorded, tmp_path: Path
) -> None:
    scene, entry = forged(name, recorded, second, tmp_path)
    answer = scene.ask(catch_up(entry))
    assert is_refused(answer, "study"), answer.header
    assert f"step {entry.step}" in answer.header["why"]
    assert scene.logged()["code"] == "study"
    log = next(tmp_path.glob("c00/following/*/steps.bin"))
    assert log.stat().st_size == (scene_log(recorded, scene)).stat().st_size, "nothing is kept"
    for _ in range(2):
        assert is_refused(scene.ask(scene.request), "study"), "the run is over here"
        scene.restart("c00")
    assert scene.ask(scene.request, "c01").header["kind"] == "reply"


def scene_log(recorded: Recorded, scene: Scene) -> Path:
    return next((recorded.record.shelf / str(scene.step)).glob("c00/following/*/steps.bin"))


@pytest.mark.parametrize("name", FORGERIES)
def test_without_seals_they_would_be_believed(
    name: str, recorded: Recorded, second: Recorded, tmp_path: Path, monkeypatch: Any
) -> None:
    """The position moves on, or the study ends because of what it was made to believe."""
    monkeypatch.setattr(Sealer, "check", lambda *args: None)
    monkeypatch.setattr(FollowedRun, "_find_problem", lambda *args: "")
    scene, entry = forged(name, recorded, second, tmp_path)
    scene.ask(catch_up(entry))
    log = next(tmp_path.glob("c00/following/*/steps.bin"))
    assert log.stat().st_size > scene_log(recorded, scene).stat().st_size


def test_the_step_of_replies_is_sealed_too(recorded: Recorded, tmp_path: Path) -> None:
    """Replies of a later step are too early; those of an earlier one are known."""
    scene = recorded.before(recorded.step("CMeans"), tmp_path)
    forger = Forger(recorded, recorded, scene.step)
    later, earlier = forger.entry(scene.step), forger.entry(scene.step - 2)
    assert is_refused(scene.ask(catch_up(later)), "behind")
    assert position(scene.ask(catch_up(earlier))) == scene.step - 1
    assert position(scene.ask(catch_up(added(earlier, 1)))) == scene.step - 1, "not read again"
    assert scene.ask(scene.request).header["kind"] == "reply"


def test_rolled_back_replies_change_nothing_after_a_restart(
    recorded: Recorded, tmp_path: Path
) -> None:
    """The whole transcript again, with other numbers, to a new process."""
    scene = recorded.before(recorded.step("Evaluation"), tmp_path)
    forger = Forger(recorded, recorded, scene.step)
    for step in range(scene.step - 1):
        scene.restart("c00")
        entry = forger.entry(step)
        changed = added(entry, 1) if entry.is_round else entry
        assert position(scene.ask(catch_up(changed))) == scene.step - 1
        earlier = unpack(recorded.record.asked[step])
        if step + 1 < scene.step - 1:
            answer = recorded.before(scene.step, tmp_path / str(step)).ask(earlier)
            assert is_refused(answer, "study"), "it was answered, and is over"
    assert scene.ask(scene.request).header["kind"] == "reply"


# Clients that are said to be silent

SILENT: dict[str, tuple[str, tuple[str, ...]]] = {
    "itself": ("CMeans", ("c00",)),
    "itself and others": ("CMeans", ("c00", "c01", "c02")),
    "strangers": ("CMeans", ("mallory",)),
    "everybody": ("CMeans", tuple(ROWS)),
    "at a preflight": ("preflight", ("c04",)),
    "while keys are exchanged": ("KeyExchange", ("c04",)),
}


@pytest.mark.parametrize("name", SILENT)
def test_silence_of_impossible_clients(name: str, recorded: Recorded, tmp_path: Path) -> None:
    what, absent = SILENT[name]
    step = recorded.step(what)
    scene = recorded.before(step + 1, tmp_path)
    answer = scene.ask(catch_up(Entry(step, (), absent=absent)))
    assert is_refused(answer, "study")
    assert is_refused(scene.ask(scene.request), "study")


@pytest.mark.parametrize("absent", [("c04",), ("c03", "c04"), ("c02", "c03", "c04")])
def test_a_small_federation_ends_when_clients_are_said_to_be_silent(
    absent: tuple[str, ...], recorded: Recorded, tmp_path: Path
) -> None:
    """Of five clients none may be left out: the difference of two totals would be too few."""
    step = recorded.step("CMeans")
    scene = recorded.before(step + 1, tmp_path)
    scene.ask(catch_up(Entry(step, (), absent=absent)))
    again = Frame({**scene.request.header, "cohort": ["c00", "c01", "c02"]}, scene.request.arrays)
    for request in (again, scene.request):
        answer = scene.ask(request)
        assert is_refused(answer, "study")
        assert "cannot go on" in answer.header["why"]


def test_an_entry_holds_nothing_but_replies() -> None:
    """Anything else would be kept on the disk of the client."""
    large = np.zeros((4, 1000), np.int64)
    with pytest.raises(ValueError, match="do not fit"):
        Entry(0, ("c00",), values=(1,), words=large)
    with pytest.raises(ValueError, match="do not fit"):
        Entry(0, (), absent=("c00",), words=large)
    with pytest.raises(ValueError, match="do not fit"):
        Entry(0, (), absent=("c00",), values=("x" * 1000,))


# Bytes of any kind


def test_no_damage_hangs_or_ends_a_client(recorded: Recorded, tmp_path: Path) -> None:
    """Damaged frames are refused; what is a frame and not the next request ends the run."""
    scene = recorded.before(recorded.step("CMeans"), tmp_path)
    raw, rng = recorded.record.asked[scene.step], np.random.default_rng(0)
    codes = set()
    for _ in range(150):
        answer = unpack(scene.site("c00").answer(mutated(raw, rng), AUTHOR))
        assert answer.header["kind"] == "refusal"
        codes.add(answer.header["code"])
    assert codes == {"request"}, "a checksum tells damage from deceit"
    assert scene.ask(scene.request).header["kind"] == "reply"


def test_frames_that_are_forged_byte_by_byte(recorded: Recorded, tmp_path: Path) -> None:
    """None is answered but the honest one, and none raises what the client did not expect."""
    rng, codes = np.random.default_rng(1), set()
    step = recorded.step("CMeans")
    raw = recorded.record.asked[step]
    scene = recorded.before(step, tmp_path)
    (run,) = (tmp_path / "c00" / "following").iterdir()
    honest = scene.ask(scene.request)
    for _ in range(150):
        crafted = resealed(mutated(raw, rng))
        answer = unpack(scene.site("c00").answer(crafted, AUTHOR))
        if answer.header["kind"] == "refusal":
            codes.add(answer.header["code"])
            (run / "state.json").unlink(missing_ok=True)  # try on
        else:
            assert same(answer, honest), "only what does not matter was changed"
    assert codes <= {"request", "study", "consent", "behind"}


def same(one: Frame, other: Frame) -> bool:
    pairs = ((one.arrays.get(name), array) for name, array in other.arrays.items())
    return all(a is not None and np.array_equal(a, b) for a, b in pairs)
