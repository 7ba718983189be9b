"""Unusable files are named in one sentence, whether read at once or in batches."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import DataError
from fedclust.data import Columns, ReadOptions, Selection
from fedclust.data.files import named_files, read_table
from fedclust.data.streams import Stream, column_kinds

pa = pytest.importorskip("pyarrow")
GOOD = "x,y\n" + "1,2\n" * 3


def read_at_once(file: Path) -> Columns:
    return read_table([file])


def read_in_batches(file: Path) -> Columns:
    stream = Stream((file,), Selection(tuple(column_kinds([file], ReadOptions()))))
    return next(iter(stream.batches()))


READERS = [read_at_once, read_in_batches]
Reader = Callable[[Path], Columns]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"PK\x03\x04 secret", "is a zip archive, such as an Excel workbook; name it .xlsx"),
        (b"\x00\x01secret\x02\x00\x00", "is not a text file"),
        (b"x,x\n1,2\n", "two columns are called 'x'; rename one"),
        (GOOD.encode() + b"1,secret,3\n", ":5: 3 values for 2 columns"),
    ],
)
def test_odd_text_files(tmp_path: Path, content: bytes, words: str, reader: Reader) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=rf"t\.csv.*{words}") as caught:
        reader(tmp_path / "t.csv")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_odd_arrow_files(tmp_path: Path, kind: str, reader: Reader) -> None:
    from pyarrow import feather, parquet

    save: Any = {"parquet": parquet.write_table, "feather": feather.write_feather}[kind]
    file = tmp_path / f"t.{kind}"
    save(pa.table({"x": np.arange(50.0)}), str(file))
    content = file.read_bytes()
    damaged = [(b"", "the file is empty"), (content[:99], "not readable"), (b"x", "not readable")]
    for bad, words in damaged:
        file.write_bytes(bad)
        with pytest.raises(DataError, match=rf"t\.{kind}: {words}"):
            reader(file)
    column = pa.array([1.0])
    save(pa.table([column, column], names=["x", "x"]), str(file))
    with pytest.raises(DataError, match="two columns are called 'x'"):
        reader(file)
    file.unlink()
    with pytest.raises(DataError, match="not readable"):
        reader(file)
    file.mkdir()
    with pytest.raises(DataError, match="is a folder; name the files in it"):
        reader(file)


@pytest.mark.parametrize("reader", READERS)
def test_suffixes_may_be_in_capitals(tmp_path: Path, reader: Reader) -> None:
    from pyarrow import feather, parquet

    table = pa.table({"x": [1.0, 2.0]})
    feather.write_feather(table, str(tmp_path / "T.FEATHER"))
    parquet.write_table(table, tmp_path / "T.PARQUET")
    (tmp_path / "T.CSV").write_text("x\n1\n2\n")
    for kind in ("FEATHER", "PARQUET", "CSV"):
        assert reader(tmp_path / f"T.{kind}")["x"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("reader", READERS)
def test_a_parquet_column_without_values_is_all_missing(tmp_path: Path, reader: Reader) -> None:
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": pa.nulls(3)}), tmp_path / "t.parquet")
    assert np.isnan(reader(tmp_path / "t.parquet")["x"]).all()


def test_a_path_names_a_file_or_is_a_glob_of_files(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "a[1].csv"):
        (tmp_path / name).write_text(GOOD)
    (tmp_path / "folder.csv").mkdir()
    named = [file.name for file in named_files(tmp_path / "*.csv")]
    assert named == ["a.csv", "a[1].csv", "b.csv"]  # without the folder
    assert named_files(tmp_path / "a[1].csv") == [tmp_path / "a[1].csv"]  # not a glob
    assert named_files(tmp_path / "[ab].csv") == [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert named_files(tmp_path / "folder.csv") == named_files(tmp_path / "c.csv") == []


def test_odd_archives(tmp_path: Path) -> None:
    file = tmp_path / "t.npz"
    np.savez(file, x=np.arange(9.0), name=np.array([b"a"] * 9))
    assert read_at_once(file)["name"].tolist() == ["a"] * 9
    content = file.read_bytes()
    flipped = bytes(c ^ 255 if i == 150 else c for i, c in enumerate(content))
    for bad in (content[: len(content) // 2], flipped):
        file.write_bytes(bad)
        with pytest.raises(DataError, match=r"t\.npz: not a readable NPZ file"):
            read_at_once(file)
    arrays: list[tuple[dict[str, Any], str]] = [
        ({}, "the file is empty"),
        (
            {"x": np.array([{}])},
            r"not a readable NPZ file \(it has no arrays, or Python objects; save numbers",
        ),
        ({"x": np.array([1j])}, "array 'x' has type complex128; save numbers or text"),
    ]
    for columns, words in arrays:
        np.savez(file, **columns)
        with pytest.raises(DataError, match=rf"t\.npz: {words}"):
            read_at_once(file)
    with open(file, "wb") as opened:
        np.save(opened, np.arange(3.0))
    with pytest.raises(DataError, match="array without a name; save columns with numpy.savez"):
        read_at_once(file)
