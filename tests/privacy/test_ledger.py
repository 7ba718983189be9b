"""The ledger: nothing is forgotten, whatever restarts, crashes or runs beside it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust import ConfigError
from fedclust.core import Code, Refusal
from fedclust.privacy import Ledger

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("query"), st.integers(0, 12)),
        st.tuples(st.just("spend"), st.sampled_from([0.1, 0.25, 0.4])),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("crash"), st.integers(1, 40)),
        st.tuples(st.just("reset"), st.just(0)),
    ),
    max_size=40,
)


def name(number: int) -> bytes:
    return number.to_bytes(32, "big")[::-1]


class Owner:
    """A data set's owner, who keeps count by hand."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.ledger = path, Ledger(path)
        self.answered: set[float] = set()
        self.spent = 0.0

    def query(self, value: float) -> None:
        try:
            self.ledger.record_query(name(int(value)), what="round", most=5)
            self.answered.add(value)
        except Refusal:
            assert value not in self.answered

    def spend(self, value: float) -> None:
        try:
            self.ledger.spend(value, what="round", budget=1.0)
            self.spent += value
        except Refusal:
            assert self.spent + value > 1.0

    def reset(self, value: float) -> None:
        self.ledger.reset("a test")
        self.answered, self.spent = set(), 0.0

    def crash(self, value: float) -> None:
        """The machine died while a line was written."""
        if self.path is not None:
            with open(self.path, "ab") as file:
                file.write(b'{"event": "query", "question": "0123456789'[: int(value)])
        self.restart(value)

    def restart(self, value: float) -> None:
        if self.path is not None:
            self.ledger = Ledger(self.path)


@given(events=EVENTS, on_disk=st.booleans())
def test_no_schedule_releases_more_than_is_allowed(
    events: list[tuple[str, float]], on_disk: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    owner = Owner(tmp_path_factory.mktemp("ledger") / "a.jsonl" if on_disk else None)
    for event, value in events:
        getattr(owner, event)(value)
        assert owner.ledger.n_queries == len(owner.answered) <= 5
        assert owner.ledger.spent == pytest.approx(owner.spent)
        assert owner.spent <= 1.0 + 1e-9


def test_two_processes_of_a_client_count_together(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    code = (
        "import sys\nfrom fedclust.privacy import Ledger\nfrom fedclust.core import Refusal\n"
        "ledger = Ledger(sys.argv[1])\ndone = 0\n"
        "for i in range(20):\n"
        "    try:\n"
        "        ledger.record_query(bytes([i, int(sys.argv[2])]) * 16, what='r', most=25)\n"
        "        done += 1\n"
        "    except Refusal:\n        pass\n"
        "print(done)\n"
    )
    run = [
        subprocess.Popen([sys.executable, "-c", code, path, str(i)], stdout=subprocess.PIPE)
        for i in range(2)
    ]
    done = [int(process.communicate()[0]) for process in run]
    assert sum(done) == 25 == len(path.read_text().splitlines()) == Ledger(path).n_queries


def test_it_can_be_read_by_people(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "folder" / "hospital.jsonl")
    ledger.record_query(name(1), what="llf-cm, round 0", most=3)
    ledger.spend(0.02, what="bounded-c-means, round 1")
    ledger.reset("data of the new year")
    lines = (tmp_path / "folder" / "hospital.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert [e["event"] for e in entries] == ["query", "noise", "reset"]
    assert entries[0]["what"] == "llf-cm, round 0"
    assert entries[1]["cost"] == 0.02
    assert entries[2]["why"] == "data of the new year"
    assert all(e["time"].endswith("Z") for e in entries)


def test_refusals_say_what_and_where(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "hospital.jsonl")
    ledger.record_query(name(1), what="round 0", most=1)
    with pytest.raises(Refusal, match=r"answered 1 queries, and the query limit is 1"):
        ledger.record_query(name(2), what="round 1", most=1)
    with pytest.raises(Refusal, match=r"budget is spent \(0 of 0.5, and this query costs 0.6\)"):
        Ledger().spend(0.6, what="round 1", budget=0.5)


def test_a_reset_needs_a_reason() -> None:
    with pytest.raises(ConfigError, match="give a reason"):
        Ledger().reset("  ")


@pytest.mark.parametrize("line", ["no json", '{"event": "query"}', "[1, 2]"])
def test_a_damaged_ledger_is_no_empty_one(line: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    Ledger(path).record_query(name(1), what="round 0")
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ConfigError, match="line 2: not a valid ledger entry"):
        Ledger(path)


def test_a_column_may_be_described_a_few_times(tmp_path: Path) -> None:
    """Each description tells whether values fit, so bounds cannot be tried one after the other."""
    ledger = Ledger(tmp_path / "a.jsonl")
    with ledger.transaction() as entries:
        entries.describe("age", "[0, 100]", most=1)
    with ledger.transaction() as entries:
        entries.describe("age", "[0, 100]", most=1)  # the same again is free
    assert ledger.has_described("age", "[0, 100]")
    with pytest.raises(Refusal) as refusal, ledger.transaction() as entries:
        entries.describe("age", "[0, 50]", most=1)
    assert refusal.value.code is Code.LIMIT
    assert "age" not in refusal.value.public
    assert "age" in refusal.value.private
    assert not Ledger(tmp_path / "a.jsonl").has_described("age", "[0, 50]")


@pytest.mark.parametrize("on_disk", [False, True])
def test_under_noise_a_broadcast_is_answered_in_one_cohort(on_disk: bool, tmp_path: Path) -> None:
    """The noise of a query is drawn once; without a client, its share would be missing."""
    ledger = Ledger(tmp_path / "a.jsonl" if on_disk else None)
    ten, seven = tuple("abcdefghij"), tuple("abcdefg")

    def join(cohort: tuple[str, ...], sent: int, *, steady: bool) -> None:
        again = Ledger(ledger.path) if on_disk else ledger
        with again.transaction() as entries:
            entries.join(cohort, name(sent), what="round 0", least=3, steady=steady)

    join(ten, 1, steady=True)
    join(ten[::-1], 1, steady=True)
    with pytest.raises(Refusal, match="round 0: the same broadcast was answered in another cohort"):
        join(seven, 1, steady=True)
    join(seven, 2, steady=True)
    with pytest.raises(Refusal, match="the same broadcast was answered in another cohort"):
        join(ten, 2, steady=True)
    join(ten, 2, steady=False)
    with pytest.raises(Refusal, match="a total over these clients is refused, because"):
        join(tuple("abcdefghi"), 3, steady=True)


def test_what_decides_distances_is_noted_once_and_never_changes(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    Ledger(file).settle({"columns": b"a" * 16}, what="k-means")
    again = Ledger(file)
    again.settle({"columns": b"a" * 16, "scale": b"b" * 16}, what="k-means")
    again.settle({"columns": b"a" * 16, "scale": b"b" * 16}, what="k-means")
    assert [json.loads(line)["name"] for line in file.read_text().splitlines()] == [
        "columns",
        "scale",
    ]
    with pytest.raises(Refusal, match="on another scale") as caught:
        Ledger(file).settle({"columns": b"a" * 16, "scale": b"c" * 16}, what="k-means")
    assert caught.value.code == Code.POLICY


def test_two_processes_pay_for_a_draw_once(tmp_path: Path) -> None:
    """The second one read the ledger before the first one paid."""
    file = tmp_path / "ledger.jsonl"
    first, second = Ledger(file), Ledger(file)
    first.spend(0.5, what="a round", draw="d1")
    second.spend(0.5, what="a round", draw="d1")
    assert Ledger(file).spent == 0.5
