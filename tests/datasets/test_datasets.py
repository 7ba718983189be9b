"""Public data sets: loading, downloading, checking, and errors for missing ones."""

import gzip
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError, DataError
from fedclust.datasets import Dataset, available, content_hash, folder, load
from fedclust.datasets import download as remote
from fedclust.datasets.loader import _hash_arrays
from fedclust.datasets.sources import SOURCES


def test_penguins_are_shipped() -> None:
    birds = load("penguins", download=False)
    assert birds.X.shape == (342, 4)
    assert birds.feature_names[0] == "bill_length_mm"
    assert np.bincount(np.asarray(birds.client)).tolist() == [167, 124, 51]
    assert np.bincount(np.asarray(birds.y)).tolist() == [151, 68, 123]
    expected = "a8e966d9ac5f0e45bc64d4b35a1747602498d3c93491d5d35f81c4954e8de686"
    assert content_hash(birds.X, np.asarray(birds.y)) == expected


def test_the_folder_comes_from_the_environment_or_is_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FEDCLUST_DATA", str(tmp_path))
    assert folder() == tmp_path
    monkeypatch.delenv("FEDCLUST_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert folder() == tmp_path / "cache" / "fedclust"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert folder() == Path.home() / ".cache" / "fedclust"


@pytest.fixture
def empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("FEDCLUST_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_absent_sets_are_named(empty_folder: Path) -> None:
    with pytest.raises(ConfigError, match="unknown data set 'pendigit'; did you mean 'pendigits'"):
        load("pendigit")
    with pytest.raises(ConfigError, match="unknown data set 'zzz'$"):
        load("zzz")
    with pytest.raises(DataError, match=r"s1: .*s1.npz does not exist, and download=False"):
        load("s1", download=False)
    with pytest.raises(DataError, match="get the data from folder data/beta"):
        load("fkm_synthetic")
    assert "s1" in available()


def fake(
    monkeypatch: pytest.MonkeyPatch, name: str, fetch: Callable[[], Any], **changes: Any
) -> None:
    source = replace(SOURCES[name], fetch=fetch, **changes)
    monkeypatch.setattr("fedclust.datasets.loader.SOURCES", {**SOURCES, name: source})


def test_what_is_downloaded_is_checked_and_kept(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])
    fake(monkeypatch, "s1", lambda: {"X": X, "y": y}, content=content_hash(X, y))
    assert load("s1").X.tolist() == X.tolist()
    fake(monkeypatch, "s1", lambda: 1 / 0)
    assert load("s1").X.tolist() == X.tolist()  # from the folder now
    assert [p.name for p in empty_folder.iterdir()] == ["s1.npz"]


def test_unexpected_content_is_refused(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, "s1", lambda: {"X": np.zeros((2, 2)), "y": np.zeros(2)})
    with pytest.raises(DataError, match="s1: the downloaded data differ from the expected content"):
        load("s1")
    assert not empty_folder.exists()


def test_a_hash_of_content_ignores_order_and_number_type() -> None:
    X, y = np.array([[3, 1], [1, 2], [1, 1]]), np.array([0, 1, 0])
    order = [2, 0, 1]
    assert content_hash(X, y) == content_hash(X[order].astype(np.float32), y[order])
    assert content_hash(X, y) != content_hash(X, y[order])


@pytest.mark.parametrize("name", [n for n, s in SOURCES.items() if s.content])
def test_local_files_have_the_expected_content(name: str, public: Callable[[str], Dataset]) -> None:
    data = public(name)
    arrays = {"X": data.X} if len(data.X) else dict(data.extra)
    assert _hash_arrays({**arrays, "y": np.asarray(data.y)}) == SOURCES[name].content


# The fetchers, tested against stand-ins with the known content of the real sources.


def test_arff_files_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "x.arff"
    path.write_text(
        "@relation r\n@attribute x numeric\n@attribute y numeric\n@attribute class {1,2,10}\n"
        "@data\n1.5,2,10\n3,4,1\n5,6,2\n"
    )
    monkeypatch.setattr(remote, "_download", lambda url, sha256: str(path))
    for name in ("xclara", "s1", "s2"):
        arrays = SOURCES[name].fetch()
        assert arrays["X"].tolist() == [[1.5, 2], [3, 4], [5, 6]]
        assert arrays["y"].tolist() == [2, 0, 1]


def test_compressed_tables_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def local_copy(url: str, sha256: str) -> str:
        path = tmp_path / Path(url).name
        text = "1\n1\n2\n" if "labels" in url else "1 2\n3 4\n5 6\n"
        with gzip.open(path, "wt") as file:
            file.write(text)
        return str(path)

    monkeypatch.setattr(remote, "_download", local_copy)
    for name in ("s4", "birch1"):
        arrays = SOURCES[name].fetch()
        assert arrays["X"].tolist() == [[1, 2], [3, 4], [5, 6]]
        assert arrays["y"].tolist() == [0, 0, 1]


def test_a_pinned_file_is_fetched_once_and_verified(tmp_path: Path) -> None:
    """Against a real server on this machine."""
    pytest.importorskip("pooch")
    import hashlib
    import threading
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    (tmp_path / "rows.txt").write_text("1 2\n")
    good = hashlib.sha256(b"1 2\n").hexdigest()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/rows.txt"
        assert Path(remote._download(url, good)).read_text() == "1 2\n"
        with pytest.raises(ValueError, match="hash"):
            remote._download(url + "?other", "0" * 64)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_openml_sets_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    bunch = SimpleNamespace(
        data=np.array([[1, 2], [3, 4], [5, 6]]),
        target=np.array(["2", "10", "2"], dtype=object),
        feature_names=["a", "b"],
    )
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: bunch)
    for name in ("pendigits", "phoneme", "mnist"):
        arrays = SOURCES[name].fetch()
        assert arrays["y"].tolist() == [0, 1, 0]
        assert arrays["X"].dtype == float


def test_uci_sets_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    reply = SimpleNamespace(
        data=SimpleNamespace(
            features=pandas.DataFrame({"a": [1, 2], "b": [3, 4]}),
            targets=pandas.DataFrame({"class": ["Osmancik", "Cammeo"]}),
        )
    )
    monkeypatch.setitem(sys.modules, "ucimlrepo", SimpleNamespace(fetch_ucirepo=lambda id: reply))
    for name in ("waveform", "statlog_landsat", "rice"):
        arrays = SOURCES[name].fetch()
        assert arrays["X"].tolist() == [[1, 3], [2, 4]]
        assert arrays["y"].tolist() == [1, 0]
    goods = ["Fresh", "Milk", "Grocery", "Frozen", "Detergents_Paper", "Delicassen"]
    reply.data.features = pandas.DataFrame({"Channel": [2, 1], **{g: [5, 6] for g in goods}})
    reply.data.targets = pandas.DataFrame({"Region": [3, 1]})
    arrays = SOURCES["wholesale_customers"].fetch()
    assert arrays["X"].tolist() == [[5] * 6, [6] * 6]
    assert (arrays["y"].tolist(), arrays["client"].tolist()) == ([1, 0], [1, 0])


def test_one_hot_columns_of_covertype_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    row = np.zeros((2, 54))
    row[0, 11], row[1, 13] = 1, 1
    row[0, 20], row[1, 14] = 1, 1
    bunch = SimpleNamespace(data=row, target=np.array([1, 7]))
    monkeypatch.setattr("sklearn.datasets.fetch_covtype", lambda: bunch)
    arrays = SOURCES["covertype"].fetch()
    assert arrays["client"].tolist() == [1, 3]
    assert arrays["soil_type"].tolist() == [6, 0]
    assert arrays["y"].tolist() == [0, 6]


def test_kddcup_keeps_its_numeric_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    row = np.array([[0, b"tcp", b"http", b"SF", *range(4, 41)]] * 2, dtype=object)
    bunch = SimpleNamespace(data=row, target=np.array([b"normal.", b"back."], dtype=object))
    monkeypatch.setattr("sklearn.datasets.fetch_kddcup99", lambda percent10: bunch)
    arrays = SOURCES["kddcup99_10"].fetch()
    assert arrays["X"].shape == (2, 38)
    assert arrays["X"][0, :3].tolist() == [0, 4, 5]
    assert arrays["y"].tolist() == [1, 0]


def test_the_four_hospitals_are_combined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from zipfile import ZipFile

    path = tmp_path / "heart.zip"
    with ZipFile(path, "w") as archive:
        for code, name in enumerate(("cleveland", "hungarian", "switzerland", "va")):
            row = ",".join([str(50 + code), *["1"] * 11, "?", str(code)])
            archive.writestr(f"processed.{name}.data", row + "\n" + row + "\n")
    monkeypatch.setattr(remote, "_download", lambda url: str(path))
    arrays = SOURCES["heart_disease"].fetch()
    assert arrays["X"].shape == (8, 13)
    assert np.isnan(arrays["X"][:, 12]).all()
    assert arrays["client"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert arrays["y"].tolist() == [0, 0, 1, 1, 1, 1, 1, 1]


def test_the_papers_files_are_combined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def local_copy(url: str) -> str:
        path = tmp_path / Path(url).name
        path.write_text("c0,0.5,1.5,0\nc1,2.5,3.5,2\n" if "Lin" in url else "501\n602\n" * 1024)
        return str(path)

    monkeypatch.setattr(remote, "_download", local_copy)
    arrays = SOURCES["ffcf_case3"].fetch()
    assert arrays["config"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert arrays["client"].tolist() == [0, 1] * 4
    assert arrays["X"][1].tolist() == [2.5, 3.5]
    sets = SOURCES["g2"].fetch()
    assert len(sets) == 81
    assert sets["g2_1_10"].shape == (2048, 1)
    assert len(_hash_arrays(sets)) == 64


def test_a_missing_download_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r"pip install 'fedclust\[data\]'"):
        remote._download("http://127.0.0.1/", "")
    monkeypatch.setitem(sys.modules, "ucimlrepo", None)
    with pytest.raises(DataError, match="pip install ucimlrepo"):
        remote.fetch_uci(1)


def test_a_failed_download_is_reported(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline() -> Any:
        raise ConnectionError("no route")

    fake(monkeypatch, "s1", offline)
    with pytest.raises(DataError, match="s1: download failed .*no route.*; put s1.npz"):
        load("s1")
