"""What a study costs, in things that can be counted: exchanges, bytes, files read, steps computed.

Seconds are for the benchmarks; a machine that is busy must not make a test fail.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import fuzzy_c_means
from fedclust.channels import RemoteChannel
from fedclust.client import files as study_client
from fedclust.client.endpoint import ClientEndpoint
from fedclust.client.files import ClientFiles
from fedclust.core import files
from fedclust.core.codec import ROUND
from fedclust.core.wire import unpack
from fedclust.privacy import ledger
from fedclust.study.settings import Study

from ..support.hostile_server import PLAN, request
from ..support.in_process import InProcess, rows, run_across, write_kits
from ..support.studies import BOUNDS, write_study

REQUEST_HEADER, REPLY_HEADER = 3_000, 600  # bytes; of the arrays nothing is repeated in text
ROUNDS = 5


class Recorded(InProcess):
    """Keeps what went each way."""

    def __init__(self, sites: dict[str, ClientEndpoint]) -> None:
        super().__init__(sites)
        self.kinds: list[str] = []  # what each exchange was for: a plan, or what is no plan
        self.requests: list[bytes] = []
        self.replies: list[tuple[str, bytes]] = []

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        header = unpack(request).header
        kind = header["algorithm"] if header["kind"] == ROUND else header["kind"]
        self.kinds.append(kind)
        self.requests.append(request)
        for client, answer in super().exchange(clients, request, seconds):
            assert isinstance(answer, bytes)
            self.replies.append((kind, answer))
            yield client, answer


def study(folder: Path, *, features: str = "", **changes: Any) -> Study:
    """LLF-FCM after k-FED, a few rounds."""
    made = write_study(folder, more=features)
    settings = {"n_init": 1, "init": "k-fed", "max_rounds": ROUNDS, "tol": 0.0, **changes}
    return replace(made, clustering=replace(made.clustering, **settings))


def ran(folder: Path, asked: Study, n: int = 60) -> Recorded:
    transport = Recorded(write_kits(folder / "kits", tables=rows(n)))
    run_across(asked, RemoteChannel(transport, about={"study": "s"}), folder / "run")
    return transport


def test_a_round_is_one_exchange_and_a_study_twelve_more(tmp_path: Path) -> None:
    kinds = ran(tmp_path, study(tmp_path)).kinds
    assert Counter(kinds)["FuzzyCMeans"] == ROUNDS
    assert Counter(kinds)["KFed"] == 1
    assert len(kinds) == 12 + ROUNDS


def test_a_study_of_one_shot_is_twelve_exchanges(tmp_path: Path) -> None:
    one_shot = study(tmp_path, algorithm="k-fed", init="auto", max_rounds=None, tol=None)
    kinds = ran(tmp_path, one_shot).kinds
    assert Counter(kinds)["KFed"] == 1
    assert len(kinds) == 12


def test_features_by_name_save_a_preflight(tmp_path: Path) -> None:
    kinds = ran(tmp_path, study(tmp_path, features="[features]\nheight = {}\nwidth = {}\n")).kinds
    assert len(kinds) == 11 + ROUNDS
    assert Counter(kinds)["preflight"] == Counter(kinds)["label"] == 1


def test_masks_cost_an_exchange_of_keys_and_none_per_round(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    masked = write_study(tmp_path, "llf-cm", "min-max", tier="secure", more=BOUNDS, n_init=1)
    kinds = Counter(ran(tmp_path, masked).kinds)
    lines = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    assert kinds["CMeans"] == len(lines)
    assert kinds["KeyExchange"] == 1


class CountedLocks(Recorded):
    """Counts the file locks that a client takes for each answer."""

    def __init__(self, sites: dict[str, ClientEndpoint], taken: Sequence[object]) -> None:
        super().__init__(sites)
        self._taken = taken
        self.locks: list[tuple[str, str, int]] = []  # what was asked, of whom, how many locks

    def exchange(
        self, clients: Sequence[str], request: bytes, seconds: float
    ) -> Iterator[tuple[str, bytes | str]]:
        before = len(self._taken)
        for client, answer in super().exchange(clients, request, seconds):
            self.locks.append((self.kinds[-1], client, len(self._taken) - before))
            before = len(self._taken)
            yield client, answer


def count_locks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list to which every file lock is added."""
    taken: list[object] = []
    real = files.lock

    def counting(file: Any) -> None:
        taken.append(file)
        real(file)

    for module in (files, ledger):
        monkeypatch.setattr(module, "lock", counting)
    return taken


@pytest.mark.parametrize("n_columns", [2, 8])
def test_a_masked_round_takes_two_file_locks_however_many_columns_there_are(
    n_columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for all descriptions of columns, when rows are prepared; one to admit the query."""
    pytest.importorskip("cryptography")
    taken = count_locks(monkeypatch)
    rng = np.random.default_rng(0)
    tables = {name: np.hstack([t, rng.random((60, n_columns - 2))]) for name, t in rows().items()}
    transport = CountedLocks(write_kits(tmp_path / "kits", tables=tables), taken)
    more = "".join(f"more{i} = {{ low = -50, high = 50 }}\n" for i in range(n_columns - 2))
    masked = write_study(tmp_path, "llf-cm", "min-max", tier="secure", more=BOUNDS + more, n_init=1)
    run_across(masked, RemoteChannel(transport, about={"study": "s"}), tmp_path / "run")
    for client in transport.sites:
        rounds = [
            (kind, n)
            for kind, name, n in transport.locks
            if name == client and kind not in ("preflight", "label")
        ]
        keys, first, *later = (n for _, n in rounds)
        assert rounds[0][0] == "KeyExchange"
        assert keys + first <= 2  # whichever of the two prepares the rows
        assert len(later) > 2
        assert set(later) == {1}


def overhead(raw: bytes) -> int:
    """Bytes of a message that are no numbers."""
    return len(raw) - sum(array.nbytes for array in unpack(raw).arrays.values())


def test_messages_are_their_arrays_and_a_bounded_header(tmp_path: Path) -> None:
    folders = {n: tmp_path / str(n) for n in (60, 600)}
    sizes = []
    for n, folder in folders.items():
        folder.mkdir()
        transport = ran(folder, study(folder), n)
        assert max(map(overhead, transport.requests)) <= REQUEST_HEADER
        assert max(overhead(raw) for _, raw in transport.replies) <= REPLY_HEADER
        rounds = [raw for kind, raw in transport.replies if kind == "FuzzyCMeans"]
        sizes += [len(raw) - overhead(raw) for raw in rounds]
    k, n_features = 3, 2
    assert set(sizes) == {8 * (k + k * n_features)}  # ten times the rows, not a byte more


def test_a_clients_file_is_read_once_and_a_round_computes_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: Counter[str] = Counter()

    def counts(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def counting(*words: Any, **settings: Any) -> Any:
            counted[name] += 1
            return real(*words, **settings)

        monkeypatch.setattr(owner, name, counting)

    counts(study_client, "read_tables")
    counts(ClientFiles, "check")
    counts(ClientFiles, "prepare")
    counts(ClientFiles, "encode")
    counts(fuzzy_c_means, "fuzzy_sums")
    transport = ran(tmp_path, study(tmp_path))
    n = len(transport.sites)
    assert counted["read_tables"] == n
    assert counted["prepare"] == counted["encode"] == n  # however many rounds ask for them
    assert transport.kinds.count("preflight") == 2  # names of columns, then their problems
    assert counted["check"] == n * (1 + 2)  # one preflight of columns, and once for each form
    assert counted["fuzzy_sums"] == n * ROUNDS


def test_a_process_that_answers_one_message_loads_little(tmp_path: Path) -> None:
    """Over Flower every message starts a process: its imports are most of what a message costs."""
    write_kits(tmp_path)
    (tmp_path / "request").write_bytes(request(PLAN))
    code = f"""
import json, sys
from pathlib import Path
from fedclust.client.endpoint import ClientEndpoint
folder = Path({str(tmp_path)!r})
answer = ClientEndpoint(folder / "west", "west").answer((folder / "request").read_bytes())
assert b'"kind": "reply"' in answer, answer
print(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    strangers = {
        "sklearn",
        "pandas",
        "polars",
        "pyarrow",
        "narwhals",
        "typer",
        "rich",
        "matplotlib",
    }
    assert not loaded & strangers
    ours = {"choice", "metrics", "estimators", "report", "cli", "study.run"}
    assert not loaded & {f"fedclust.{name}" for name in ours}
    assert not loaded & {"fedclust.algorithms.k_fed", "fedclust.algorithms.vertical_c_means"}
    if "numba" not in loaded:  # which brings it
        assert "scipy" not in loaded
