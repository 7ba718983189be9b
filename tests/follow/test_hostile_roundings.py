"""A server that changes the last bits of numbers, within what rounding explains."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms.centers import Sums as CenterSums
from fedclust.core.wire import Frame, pack, unpack
from fedclust.follow import agreement
from fedclust.follow.agreement import TOLERANCE
from fedclust.follow.roundings import Roundings
from fedclust.privacy import FixedPoint
from fedclust.typing import FloatArray

from ..support.following import Federation, Sites, tables
from .scenes import AUTHOR, Recorded, is_refused, record_run

pytest.importorskip("cryptography")

Sums = tuple[FloatArray, FloatArray]  # rows of each cluster, and their sums
NUDGE = TOLERANCE / 16


class Stopped(Exception):
    """The server has what it wanted."""


class Nudging(Sites):
    """A server that stops after the first round of clustering, at almost the study's centres."""

    def __init__(self, there: Federation, by: float) -> None:
        super().__init__(there)
        self._by = by
        self.centers: FloatArray = np.empty(0)
        self.replies: list[Frame] = []

    def exchange(self, clients: Sequence[str], request: bytes, seconds: float) -> Any:
        frame = unpack(request)
        if frame.header.get("algorithm") != "CMeans":
            yield from super().exchange(clients, request, seconds)
            return
        self.centers = frame.arrays["down.centers"]
        raw = pack(*nudged(frame, self._by))
        self.replies = [unpack(self.federation.sites[c].answer(raw, AUTHOR)) for c in clients]
        self.grid = FixedPoint(**dict(frame.header["transforms"])["FixedPoint"]).grid
        raise Stopped

    @property
    def sums(self) -> Sums | None:
        """What the server reads; None if clients refuse."""
        kinds = {reply.header["kind"] for reply in self.replies}
        if kinds == {"refusal"}:
            assert all(is_refused(reply, "study") for reply in self.replies)
            return None
        merged: Any = CenterSums.merge([CenterSums.from_arrays(r.arrays) for r in self.replies])
        found = merged.off_grid(self.grid)
        return found.weight, found.total


def nudged(frame: Frame, by: float) -> Frame:
    """The same centres, up to rounding: the first a little lower."""
    shift = np.zeros_like(frame.arrays["down.centers"])
    shift[0] = by
    names = ("down.centers", "plan.init")
    arrays = {n: a + shift if n in names else a for n, a in frame.arrays.items()}
    return Frame(frame.header, arrays)


def first_round(there: Federation, folder: Path, run: str, by: float) -> Nudging:
    server = Nudging(there, by)
    with pytest.raises(Stopped):
        there.run(folder / run, server, run=run)
    return server


def with_row_between(folder: Path) -> Federation:
    """One row is between the two centres of the start, which does not depend on rows."""
    rows = {name: table[:, :1] for name, table in tables(4).items()}
    options: dict[str, Any] = {"k": 2, "clustering": 'init = "uniform"'}
    first = first_round(Federation(folder / "first", rows, **options), folder, "f" * 16, 0.0)
    rows["c01"][0] = first.centers.sum() / 2
    return Federation(folder / "kits", rows, **options)


@pytest.fixture
def there(tmp_path: Path) -> Federation:
    return with_row_between(tmp_path)


def test_two_choices_of_the_last_bits_would_give_a_record(
    there: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Roundings, "settle", lambda *args: True)
    one, two = (
        first_round(there, tmp_path, run, by).sums for run, by in (("a", NUDGE), ("b", -NUDGE))
    )
    assert one is not None
    assert two is not None
    moved = np.abs(one[0] - two[0])
    assert moved == pytest.approx([1, 1]), "one row is on the border"
    record = np.abs(one[1] - two[1])[0]
    assert record == pytest.approx(there.rows["c01"][0], abs=1e-6)


@pytest.mark.parametrize(("first", "second"), [(0.0, NUDGE), (NUDGE, 0.0), (NUDGE, -NUDGE)])
def test_a_server_chooses_once_over_all_runs(
    first: float, second: float, there: Federation, tmp_path: Path
) -> None:
    """Also after a restart of the clients, and if the study has another name for the same."""
    assert first_round(there, tmp_path, "a" * 16, first).sums is not None
    there.sites = there.open_sites()
    again = first_round(there, tmp_path, "b" * 16, second)
    assert again.sums is None
    assert "rounded otherwise than before" in again.replies[0].header["why"]
    there.path.write_text(there.path.read_text().replace('labels = "csv"', 'labels = "none"'))
    assert first_round(there, tmp_path, "c" * 16, second).sums is None
    assert first_round(there, tmp_path, "d" * 16, first).sums is not None, "the first choice holds"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record_run(tmp_path_factory.mktemp("honest"), tables(4))


@pytest.mark.parametrize("at", ["Evaluation", "Profile", "ClusterShapes"])
def test_a_server_chooses_once_in_a_run(at: str, recorded: Recorded, tmp_path: Path) -> None:
    """Statistics are of the centres that the last round was about, to the last bit."""
    scene = recorded.before(recorded.step(at), tmp_path)
    answer = scene.ask(nudged(scene.request, NUDGE))
    assert is_refused(answer, "study")
    assert "rounded otherwise" in answer.header["why"]
    assert is_refused(scene.ask(scene.request), "study")
    assert scene.ask(scene.request, "c01").header["kind"] == "reply"


def test_other_bits_are_accepted_once(recorded: Recorded, tmp_path: Path) -> None:
    """A server whose processor rounds otherwise can run a study."""
    step = recorded.step("CMeans")
    scene = recorded.before(step, tmp_path)
    for client in recorded.names:
        request = nudged(scene.request, NUDGE)
        assert scene.ask(request, client).header["kind"] == "reply"


def test_roundings_are_kept_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "roundings.bin"
    ours, theirs, other = (bytes([n]) * 16 for n in (1, 2, 3))
    one, two = Roundings(file), Roundings(file)
    assert one.settle([(ours, theirs)])
    assert one.settle([(ours, theirs), (theirs, theirs)])
    assert not two.settle([(ours, other)]), "another process has read the file"
    assert not one.settle([(other, ours), (other, theirs)]), "two choices in one request"
    assert one.settle([(other, theirs)]), "what was refused is not kept"
    with open(file, "ab") as log:
        log.write(b"half of a rec")  # a crash while writing
    assert Roundings(file).settle([(bytes(16), ours)])
    assert not Roundings(file).settle([(bytes(16), other)])
    assert file.stat().st_size == 4 * 32


NARROW = 2.0**-30  # of the width of the bounds: all rows are there


@pytest.mark.parametrize("wide", [False, True])
def test_wide_bounds_give_a_server_no_choice_among_rows(
    wide: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounding is a share of the distance of centres: of the bounds it would reach many rows."""
    rows = {name: 0.5 + NARROW * (t - 0.5) for name, t in tables(4).items()}
    there = Federation(tmp_path / "kits", rows, k=2)
    if wide:
        monkeypatch.setattr(agreement, "_nearest_two", lambda points: 1.0)
    step = NARROW / 20
    answered = first_round(there, tmp_path, "a" * 16, step).sums is not None
    assert answered is wide
    assert step < TOLERANCE, "it is a twentieth of the range of the rows"


def test_variances_are_rounded_by_themselves() -> None:
    """A column of narrow rows has variances far below those of others."""
    ours = {"down.variance": np.array([[0.08, 1e-14], [0.08, 2e-14]])}
    assert agreement._arrays_agree(ours, {"down.variance": ours["down.variance"] * (1 + 1e-12)})
    changed = ours["down.variance"] + np.array([[0.0, 1e-12], [0.0, 0.0]])
    assert not agreement._arrays_agree(ours, {"down.variance": changed})
