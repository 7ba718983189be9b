"""A text file gives the same values whether it is read at once or in batches."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.client.files import ClientFiles
from fedclust.clustering.preparation import Column
from fedclust.data import Columns, ReadOptions, Selection
from fedclust.data.files import read_table
from fedclust.data.settings import FileSettings
from fedclust.data.streams import Stream, column_kinds

pytest.importorskip("pyarrow")
OPTIONS = ReadOptions(na_values=(" not known ",))
TEXT = """\
name,x,y,sex,code,stage
007, 1.5 ,1e3, f ,1.0, 1
"0 8",NA,"2",f,01,a
 "q",nan,+3,"m",2,1.00
"li
ne", not known ,  4,NA,"  1  ","say ""hi"", you"

NA,-2,,m,,1_0
"""


def read_at_once(file: Path) -> Columns:
    return read_table([file], OPTIONS, "name")


def read_in_batches(file: Path) -> Columns:
    text_columns = frozenset({"sex", "code", "stage"})
    stream = Stream(
        (file,),
        Selection(tuple(column_kinds([file], OPTIONS)), text_columns, OPTIONS, "name", n_rows=2),
    )
    parts = list(stream.batches())
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@pytest.mark.parametrize("reader", [read_at_once, read_in_batches])
def test_every_reader_gives_the_same_values(
    tmp_path: Path, reader: Callable[[Path], Columns]
) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    columns = reader(tmp_path / "t.csv")
    assert columns["name"].tolist() == ["007", "0 8", '"q"', "li\nne", "NA"]
    assert np.array_equal(columns["x"], [1.5, np.nan, np.nan, np.nan, -2.0], equal_nan=True)
    assert np.array_equal(columns["y"], [1000.0, 2.0, 3.0, 4.0, np.nan], equal_nan=True)
    assert columns["sex"].tolist() == ["f", "f", "m", None, "m"]

    def hot(name: str, *categories: str) -> list[list[float]]:
        return Column(name, categories).encode(columns[name], "it").tolist()  # type: ignore[no-any-return]

    missing = [pytest.approx(np.nan, nan_ok=True)] * 2
    assert hot("code", "1", "2") == [[1, 0], [1, 0], [0, 1], [1, 0], missing]
    stages = hot("stage", "1", "a", 'say "hi", you', "1_0")
    assert [row.index(1.0) for row in stages] == [0, 1, 0, 2, 3]


@pytest.mark.parametrize("batch_rows", [0, 2])
def test_both_readers_detect_the_same_numeric_columns(tmp_path: Path, batch_rows: int) -> None:
    (tmp_path / "t.csv").write_text(TEXT)
    client = ClientFiles(
        "it",
        [tmp_path / "t.csv"],
        FileSettings(na_values=("not known",), id="name", batch_rows=batch_rows),
    )
    assert client.numbers == ["x", "y", "code"]
    wanted = [Column("x"), Column("code", ("1", "2")), Column("stage", ("1", "a"))]
    problems, counted = client.check(wanted)
    assert counted == (5, 1)
    (problem,) = [p for p in problems if p.blocking]
    assert problem.text.startswith("has undeclared categories (")


@pytest.mark.parametrize("reader", [read_at_once, read_in_batches])
def test_numbers_are_the_same_to_the_last_bit(
    tmp_path: Path, reader: Callable[[Path], Columns]
) -> None:
    x = np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-25, 25)
    odd: list[Any] = ["12345678901234567890", "1e308", "-0.0", "4.9e-324", "inf", "\uff11"]
    lines = [*map(repr, x.tolist()), *odd]
    (tmp_path / "t.csv").write_text("name,x\n" + "".join(f"{i},{v}\n" for i, v in enumerate(lines)))
    wanted = np.array([float(v) for v in lines])
    assert reader(tmp_path / "t.csv")["x"].tobytes() == wanted.tobytes()
