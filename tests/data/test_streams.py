"""Files read in batches give the same rows as files read at once."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError, DataError
from fedclust.client.files import ClientFiles
from fedclust.clustering.preparation import Column
from fedclust.data import Kind, ReadOptions, Selection
from fedclust.data.files import read_table
from fedclust.data.settings import FileSettings
from fedclust.data.streams import InMemory, Stream, column_kinds

pa = pytest.importorskip("pyarrow")

OPTIONS = ReadOptions()
COLUMNS: dict[str, Any] = {
    "id": [f"0{i}" for i in range(25)],
    "x": [None if i == 7 else i / 8 for i in range(25)],
    "n": list(range(25)),
    "s": [None if i == 3 else "fm"[i % 2] for i in range(25)],
}


def write(folder: Path, kind: str) -> Path:
    from pyarrow import csv, feather, parquet

    file = folder / f"t.{kind}"
    table = pa.table(COLUMNS)
    if kind == "parquet":
        parquet.write_table(table, file, row_group_size=10)
    elif kind == "feather":
        feather.write_feather(table, str(file), chunksize=10)
    else:
        csv.write_csv(table, file)
    return file


def concatenate(stream: Stream) -> dict[str, list[Any]]:
    parts = list(stream.batches())
    assert all(len(part["x"]) <= stream.selection.n_rows for part in parts)
    assert len(parts) > 2
    return {n: np.concatenate([part[n] for part in parts]).tolist() for n in stream.selection.names}


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_batches_are_the_rows_of_the_file(tmp_path: Path, kind: str) -> None:
    file = write(tmp_path, kind)
    numeric = column_kinds([file], OPTIONS)
    assert list(numeric) == list(COLUMNS)
    assert [name for name, kind in numeric.items() if kind is Kind.NUMBERS][-2:] == ["x", "n"]
    selection = Selection(("id", "x", "s"), frozenset({"s"}), OPTIONS, "id", n_rows=4)
    stream = Stream((file, file), selection)
    at_once = read_table([file, file], OPTIONS, "id")
    for name, values in concatenate(stream).items():
        for one, other in zip(values, at_once[name].tolist(), strict=True):
            assert one == other or (one != one and other != other)


def test_columns_in_memory_are_one_batch() -> None:
    columns = {"x": np.arange(3.0)}
    assert list(InMemory(columns).batches()) == [columns]


def test_a_batch_with_a_word_among_numbers_is_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 5 + "2\n12h\n")
    stream = Stream((tmp_path / "t.csv",), Selection(("x",), n_rows=5))
    first, second = (batch["x"] for batch in stream.batches())
    assert first.dtype.kind == "f"
    assert second.tolist() == ["2", "12h"]  # the caller who needs numbers counts and reports them


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_damaged_files_are_named(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"t.{kind}"
    for content, words in [(b"", "the file is empty"), (b"a,b\n1,\x00\xff\n", "not")]:
        file.write_bytes(content)
        with pytest.raises(DataError, match=rf"t\.{kind}: .*{words}"):
            column_kinds([file], OPTIONS)
        with pytest.raises(DataError, match=rf"t\.{kind}: .*{words}"):
            list(Stream((file,), Selection(("b",), frozenset(), OPTIONS)).batches())


def test_files_of_one_client_have_the_same_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,z\n1,2\n")
    with pytest.raises(DataError, match=r"b.csv: columns y, z are not in all files"):
        column_kinds([tmp_path / "a.csv", tmp_path / "b.csv"], OPTIONS)


def test_formats_without_batches_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", x=np.arange(3))
    with pytest.raises(
        ConfigError, match="only .parquet, .feather, .csv, .tsv, .txt files can be read in"
    ):
        column_kinds([tmp_path / "t.npz"], OPTIONS)


def test_without_pyarrow_the_error_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(ConfigError, match=r"pip install 'fedclust\[study\]'"):
        column_kinds([tmp_path / "t.csv"], OPTIONS)


@pytest.mark.parametrize("batch_rows", [0, 5])
@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_text_is_numeric_only_where_files_have_no_types(
    tmp_path: Path, kind: str, batch_rows: int
) -> None:
    """A Parquet file says that postal codes are text; a CSV file cannot."""
    from pyarrow import csv, feather, parquet

    columns = {"zip": ["10115", "20095"] * 9, "x": [1.5, 2.5] * 9, "day": ["2024-05-01"] * 18}
    save: Any = {
        "parquet": parquet.write_table,
        "feather": feather.write_feather,
        "csv": csv.write_csv,
    }[kind]
    save(pa.table(columns), str(tmp_path / f"t.{kind}"))
    files = ClientFiles("it", [tmp_path / f"t.{kind}"], FileSettings(batch_rows=batch_rows))
    assert files.numbers == (["zip", "x"] if kind == "csv" else ["x"])
    assert files.kinds["day"] is Kind.DATES
    assert files.check([Column("zip")])[1].complete == 18  # numbers, if a study declares them
