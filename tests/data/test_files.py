"""Files of every format become columns."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError, DataError
from fedclust.data.files import read_table


def test_files_of_all_kinds_are_the_same_table(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    columns: dict[str, Any] = {"x": [1.0, 2.0], "n": [3, 4], "s": ["a", None]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    feather.write_feather(pa.table(columns), tmp_path / "t.feather")
    (tmp_path / "t.csv").write_text("x,n,s\n1,3,a\n2,4,NA\n")
    for kind in ("parquet", "feather", "csv"):
        table = read_table([tmp_path / f"t.{kind}"])
        assert table["x"].tolist() == [1.0, 2.0]
        assert table["n"].tolist() == [3.0, 4.0]
        assert table["s"].tolist() == ["a", None]
    np.savez(tmp_path / "t.npz", x=np.array([1.0, 2.0]))
    assert list(read_table([tmp_path / "t.npz"])) == ["x"]
    both = read_table([tmp_path / "t.csv"] * 2)
    assert len(both["x"]) == 4


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", b"", "the file is empty"),
        ("t.csv", b"a,a\n1,2\n", "two columns are called 'a'"),
        ("t.csv", b"a,b\n1\n", r"t.csv:2: 1 value for 2 columns"),
        ("t.csv", b"a,b\n\x00\xff,2\n", "is not a text file"),
        ("t.npz", b"nonsense", "not a readable NPZ file"),
        ("t.parquet", b"nonsense", "not readable"),
        ("t.docx", b"", "unknown file format; fedclust reads .csv"),
    ],
)
def test_files_that_cannot_be_read_are_named(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    if name == "t.parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ConfigError, DataError), match=words):
        read_table([tmp_path / name])
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("y\n1\n")
    with pytest.raises(DataError, match="columns x, y are not in all files of this client"):
        read_table([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_without_pyarrow_parquet_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"x")
    with pytest.raises(ConfigError, match=r"pip install 'fedclust\[study\]'"):
        read_table([tmp_path / "t.parquet"])


def test_arrays_that_are_not_columns_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", x=np.array([1.0, 2.0]), image=np.ones((2, 2)))
    with pytest.raises(DataError, match="array 'image' has 2 axes; save one array per column"):
        read_table([tmp_path / "t.npz"])
    np.savez(tmp_path / "t.npz", x=np.array([1.0, 2.0]), y=np.ones(3))
    with pytest.raises(DataError, match="its arrays have different lengths"):
        read_table([tmp_path / "t.npz"])


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("41,0.5", "t.csv:1: this line has values, not names of columns; add a line of names"),
        ("41;0,5", "this line has values"),
        ("anna,41,0.5", "this line has values"),  # a fraction is not a name
        ("anna,41,7", "this line has values"),  # among the values of its column
        ("anna,,7", "this line has values"),
    ],
)
def test_first_lines_without_names_are_refused(tmp_path: Path, first: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(f"{first}\n{first}\n")
    with pytest.raises(DataError, match=words) as caught:
        read_table([tmp_path / "t.csv"])
    assert "41" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    "text",
    [
        "region,2019,2020\nnorth,1.5,2\nsouth,3000,4\n",  # years
        ",0,1,2\n0,5,6,7\n1,0,1,2\n",  # as pandas writes rows without names
        "x1,2\n1,2\n3,4\n",
        "name,7\nanna,1\nbert,2\n",  # not among the values of its column
    ],
)
def test_names_may_be_numbers(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert ",".join(read_table([tmp_path / "t.csv"])) == text.splitlines()[0]


def test_kinds_of_parquet_columns(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table(
        {
            "flag": pa.array([True, None]),
            "price": pa.array([1, 2]).cast(pa.decimal128(21, 2)),
            "code": pa.array(["7", "8"]).dictionary_encode(),
            "day": pa.array([0, 1], pa.timestamp("s")),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    table = read_table([tmp_path / "t.parquet"])
    assert table["flag"].tolist() == ["true", None]  # text, as in a CSV file
    assert table["price"].tolist() == [1.0, 2.0]
    assert table["code"].tolist() == ["7", "8"]
    assert table["day"].dtype.kind == "M"
