"""A study over split columns, over bytes: the study in one process, and nothing but numbers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.core import ConfigError, Plan, Round, TooFewClients
from fedclust.study.read import read_study
from fedclust.study.run import run_study
from fedclust.study.settings import Study

from ..support.in_process import InProcess
from ..support.owners_in_process import (
    NONE,
    OWNERS,
    SECRET,
    SECURE,
    records,
    reopened,
    results_of,
    run_across,
    write_owners,
    write_study,
)

HARD, SOFT = 'algorithm = "lossless"', 'algorithm = "lossless"\nfuzzy = true'


def same_at_owners(folder: Path, here: str = "here") -> None:
    for name in OWNERS:
        for there, file in (("s.csv", f"{name}.csv"), ("s.centers.json", f"{name}.centers.json")):
            mine = (folder / name / "labels" / there).read_text()
            assert mine == (folder / here / "labels" / file).read_text()


@pytest.mark.parametrize("clustering", [HARD, SOFT, f'{HARD}\ninit = "records"\nn_init = 3'])
@pytest.mark.parametrize(("data", "more"), [("", NONE), ('missing = "mean"', SECURE)])
def test_across_machines_is_in_one_process_bit_for_bit(
    clustering: str, data: str, more: str, tmp_path: Path
) -> None:
    if more == SECURE:
        pytest.importorskip("cryptography")
    sites = write_owners(tmp_path, gap=True)
    study = write_study(tmp_path, clustering, data, more)
    run_study(study, tmp_path / "here", secret=SECRET)
    run_across(study, InProcess(sites), tmp_path / "there")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")
    same_at_owners(tmp_path)


class Listening(InProcess):
    """Keeps all that crosses."""

    def __init__(self, sites: Any) -> None:
        super().__init__(sites, self.hear)
        self.heard: list[bytes] = []

    def hear(self, number: int, client: str, answer: bytes) -> bytes:
        self.heard.append(answer)
        return answer

    def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
        self.heard.append(request)
        return super().exchange(clients, request, seconds)


@pytest.mark.parametrize("clustering", [HARD, SOFT])
def test_no_row_id_name_or_secret_crosses(clustering: str, tmp_path: Path) -> None:
    sites = write_owners(tmp_path, gap=True)
    transport = Listening(sites)
    run_across(write_study(tmp_path, clustering, "", NONE), transport, tmp_path / "run")
    wire = b"".join(transport.heard)
    names = {name for columns in OWNERS.values() for name in columns}
    for word in (*names, "customer", SECRET, *(f"p{i}" for i in range(100, 120))):
        assert word.encode() not in wire, word
    X = records()
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    for value in (*X.ravel()[::7], *scaled.ravel()[::7]):
        assert np.float64(value).tobytes() not in wire
        assert repr(float(value)).encode() not in wire
    there = "".join(file.read_text() for file in (tmp_path / "run").iterdir() if file.is_file())
    assert "income" not in there
    assert SECRET not in there


def test_owners_rows_do_not_cross_as_they_are_clustered(tmp_path: Path) -> None:
    sites = write_owners(tmp_path)
    transport = Listening(sites)
    run_across(write_study(tmp_path, HARD, "", NONE), transport, tmp_path / "run")
    wire = b"".join(transport.heard)
    for site in sites.values():
        kept: Any = site._session.columns._kept
        for value in kept[2].X.ravel():
            assert value.tobytes() not in wire


def test_masks_hide_every_owner_and_the_result_is_that_without(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    sites = write_owners(tmp_path)
    secure = write_study(tmp_path, SOFT, "", SECURE)
    plain = replace(
        secure,
        privacy=replace(secure.privacy, tier="none"),
        data=replace(secure.data, scaling="min-max"),
    )
    transport = Listening(sites)
    masked = run_across(secure, transport, tmp_path / "secure")
    open_ = run_across(plain, InProcess(reopened(tmp_path)), tmp_path / "none")
    assert masked.model.sizes == open_.model.sizes
    a, b = (run.clustering.last.arrays()["weights"] for run in (masked, open_))
    np.testing.assert_allclose(a, b, atol=1e-6)
    raw = [frame for frame in transport.heard if b'"d2"' in frame and b'"reply"' in frame]
    assert raw
    for frame in raw:
        tail = np.frombuffer(frame[-8 * 90 :], np.int64)
        assert np.abs(tail.astype(float)).max() > 2.0**58  # noise: no distance is as large


SPLITS: tuple[Mapping[str, tuple[str, ...]], ...] = (
    OWNERS,
    {"bank": ("income",), "shop": ("debt",), "telecom": ("spent", "visits", "calls")},
    {f"owner{i}": (name,) for i, name in enumerate(n for c in OWNERS.values() for n in c)},
)


@pytest.mark.parametrize("clustering", [HARD, f"{HARD}\nfuzzy = true\nmax_rounds = 15\ntol = 0.0"])
def test_masked_sums_have_the_same_bits_however_columns_are_split(
    clustering: str, tmp_path: Path
) -> None:
    pytest.importorskip("cryptography")
    found = []
    for number, owners in enumerate(SPLITS):
        folder = tmp_path / str(number)
        sites = write_owners(folder, owners=owners, people=120)
        study = write_study(folder, clustering, "", SECURE, owners=owners)
        done = run_across(study, InProcess(sites), folder / "run")
        last = done.clustering.last.arrays()
        bits = [array.tobytes() for array in last.values()]
        shifts = [line.shift for line in done.clustering.history]
        found.append((bits, shifts, done.clustering.inertia, done.model.sizes))
    assert found[1:] == found[:-1]


class Stop:
    """Ends a run in the middle of its clustering."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, phase: str, plan: Plan, last: Round) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedclust.study.journal._PAUSE", -1.0)


LONG = 'algorithm = "lossless"\nfuzzy = true\ntol = 0.0\nmax_rounds = 12'


@pytest.mark.parametrize("more", [NONE, SECURE])
@pytest.mark.parametrize("after", [2, 9])
def test_a_run_goes_on_bit_for_bit_after_everybody_was_restarted(
    after: int, more: str, eager: None, tmp_path: Path
) -> None:
    if more == SECURE:
        pytest.importorskip("cryptography")
    study = write_study(tmp_path, LONG, "", more)
    sites = write_owners(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_across(study, InProcess(sites), tmp_path / "run", on_round=Stop(after))
    run_across(study, InProcess(reopened(tmp_path)), tmp_path / "run", resume=True)
    run_study(study, tmp_path / "here", secret=SECRET)
    assert results_of(tmp_path / "run") == results_of(tmp_path / "here")
    same_at_owners(tmp_path)


def test_values_that_changed_end_a_run_that_would_go_on(eager: None, tmp_path: Path) -> None:
    study = write_study(tmp_path, LONG, "", NONE)
    with pytest.raises(KeyboardInterrupt):
        run_across(study, InProcess(write_owners(tmp_path)), tmp_path / "r", on_round=Stop(6))
    people = tmp_path / "shop" / "people.csv"
    lines = people.read_text().splitlines()
    lines[3] = lines[3].rpartition(",")[0] + ",1.5"
    people.write_text("\n".join(lines) + "\n")
    with pytest.raises(ConfigError, match="clients, their records or values have changed since"):
        run_across(study, InProcess(reopened(tmp_path)), tmp_path / "r", resume=True)


@pytest.mark.parametrize("more", [NONE, SECURE])
def test_an_owner_that_falls_silent_or_was_restarted_stops_the_run_by_name(
    more: str, tmp_path: Path
) -> None:
    if more == SECURE:
        pytest.importorskip("cryptography")
    study = write_study(tmp_path, LONG, "", more)
    sites = write_owners(tmp_path)

    def silent(number: int, client: str, answer: bytes) -> bytes | str:
        return "cannot be reached" if client == "shop" and number > 7 else answer

    with pytest.raises(TooFewClients, match="shop"):
        run_across(study, InProcess(sites, silent), tmp_path / "a")

    class Restarted(InProcess):
        def exchange(self, clients: Any, request: bytes, seconds: float) -> Any:
            if len(self.asked) == 7:
                self.sites |= reopened(tmp_path, ["shop"])
            return super().exchange(clients, request, seconds)

    transport = Restarted(reopened(tmp_path))
    with pytest.raises(TooFewClients, match=r"shop"):
        run_across(study, transport, tmp_path / "b")


@pytest.mark.parametrize(
    ("answers_lost", "words"),
    [
        (1, "2 clients can take part, but 3 are needed; every client is needed, but shop cannot"),
        (2, "shop"),
        (3, "shop did not confirm that it aligned its rows"),
    ],
)
def test_every_owner_is_needed_from_the_first_word(
    answers_lost: int, words: str, tmp_path: Path
) -> None:
    def silent(number: int, client: str, answer: bytes) -> bytes | str:
        return "cannot be reached" if client == "shop" and number == answers_lost else answer

    sites = write_owners(tmp_path)
    with pytest.raises(TooFewClients, match=words):
        run_across(write_study(tmp_path, HARD, "", NONE), InProcess(sites, silent), tmp_path / "r")


def without_clients(folder: Path, min_clients: int) -> Study:
    text = (folder / "s.toml").read_text()
    text = text[text.index("[data]") :].replace('id = "customer"', "")
    (folder / "s.toml").write_text(f"{text}\n[sampling]\nmin_clients = {min_clients}\n")
    return read_study(folder / "s.toml", files=False)


def test_a_study_need_not_name_owners_but_must_say_how_many(tmp_path: Path) -> None:
    sites = write_owners(tmp_path)
    named = write_study(tmp_path, HARD, "", NONE)
    run_across(named, InProcess(sites), tmp_path / "named")
    study = without_clients(tmp_path, 3)
    run_across(study, InProcess(reopened(tmp_path)), tmp_path / "counted")
    assert results_of(tmp_path / "counted") == results_of(tmp_path / "named")
    fewer = InProcess({n: s for n, s in reopened(tmp_path).items() if n != "shop"})
    with pytest.raises(TooFewClients, match="2 clients can take part, but 3 are needed"):
        run_across(study, fewer, tmp_path / "fewer")
    write_study(tmp_path, HARD, "", NONE)
    with pytest.raises(ConfigError, match="set min_clients"):
        without_clients(tmp_path, 1)


def test_features_that_do_not_fit_the_owners_are_told_by_number(tmp_path: Path) -> None:
    sites = write_owners(tmp_path)
    listed = '[privacy]\ntier = "none"\n[features]\nincome = {}\nspent = {}\ncalls = {}\nage = {}\n'
    with pytest.raises(ValueError, match="lists 4 columns, clients have 3: some have no client"):
        run_across(write_study(tmp_path, HARD, "", listed), InProcess(sites), tmp_path / "few")
    twice = {"bank": ("income",), "shop": ("income",), "telecom": ("calls",)}
    sites = write_owners(tmp_path / "twice", owners=twice)
    listed = '[privacy]\ntier = "none"\n[features]\nincome = {}\ncalls = {}\n'
    with pytest.raises(ValueError, match="lists 2 columns, clients have 3: some have two clients"):
        run_across(write_study(tmp_path, HARD, "", listed), InProcess(sites), tmp_path / "many")


def test_other_secrets_find_no_record(tmp_path: Path) -> None:
    sites = write_owners(tmp_path)
    file = tmp_path / "shop" / "client.toml"
    file.write_text(file.read_text().replace(SECRET, SECRET + "!"))
    with pytest.raises(ValueError, match="the same secret"):
        run_across(write_study(tmp_path, HARD, "", NONE), InProcess(sites), tmp_path / "run")
