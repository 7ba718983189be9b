"""A table that is written in any dialect is read as it was, or refused; never as another one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fedclust import DataError
from fedclust.data import Columns, Kind, ReadOptions, Selection
from fedclust.data.files import inspect, locate, read_table
from fedclust.data.formats import csv as csv_format
from fedclust.data.formats._text import HEAD
from fedclust.data.numbers import Notation
from fedclust.data.streams import Stream, column_kinds

from .writing import NOTATIONS, PACKERS, Written, written

pytest.importorskip("pyarrow")


def read_small(file: Path, options: ReadOptions) -> Columns:
    return read_table([file], options, "id")


def read_large(file: Path, options: ReadOptions) -> Columns:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_format, "_FOR_ARROW", 0)
        return read_table([file], options, "id")


def read_batches(file: Path, options: ReadOptions) -> Columns:
    kinds = column_kinds([file], options)
    words = frozenset(name for name, kind in kinds.items() if kind is Kind.TEXT)
    parts = list(Stream((file,), Selection(tuple(kinds), words, options, "id", n_rows=2)).batches())
    if not parts:
        return {name: np.empty(0) for name in kinds}
    return {name: np.concatenate([part[name] for part in parts]) for name in kinds}


READERS = [read_small, read_large, read_batches]
WORDS = st.text(st.sampled_from("abÄß€ ,;|\t'\"#xyz"), min_size=1, max_size=6).map(
    lambda word: f"w{word}w"
)
DIALECTS = st.builds(
    Written,
    delimiter=st.sampled_from(",;\t|"),
    notation=st.sampled_from(NOTATIONS),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    packed=st.sampled_from(list(PACKERS)),
    comments=st.integers(0, 2),
    quote_all=st.booleans(),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[tuple[list[int | None], int]]]:
    """Words, and columns of integers with a number of decimals; None is a missing value."""
    n = draw(st.integers(1, 7))
    words = draw(st.lists(WORDS, min_size=n, max_size=n))
    cells = st.lists(st.none() | st.integers(-(10**7), 10**7), min_size=n, max_size=n)
    return words, draw(st.lists(st.tuples(cells, st.integers(0, 4)), min_size=1, max_size=3))


def save(
    folder: Path, how: Written, words: list[str], numbers: list[tuple[list[int | None], int]]
) -> tuple[Path, dict[str, np.ndarray[Any, Any]]]:
    columns = {"id": [f"0{i}" for i in range(len(words))], "größe": words}
    expected: dict[str, np.ndarray[Any, Any]] = {}
    for place, (values, digits) in enumerate(numbers):
        name = f"x{place}"
        columns[name] = ["NULL" if v is None else written(v, digits, how.notation) for v in values]
        plain = [np.nan if v is None else float(f"{v}e-{digits}") for v in values]
        expected[name] = np.array(plain)
    return how.save(folder, columns), expected


@pytest.mark.parametrize("reader", READERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(how=DIALECTS, table=tables())
@example(how=Written("\t", comments=1, quote_all=True), table=(['w"#\n#w'], [([1], 0)]))
def test_with_settings_every_table_is_read_as_it_was(
    tmp_path: Path, reader: Any, how: Written, table: Any
) -> None:
    words, numbers = table
    file, expected = save(tmp_path, how, words, numbers)
    columns = reader(file, how.options)
    assert columns["id"].tolist() == [f"0{i}" for i in range(len(words))]
    assert columns["größe"].tolist() == words
    for name, values in expected.items():
        assert np.array_equal(columns[name].astype(float), values, equal_nan=True)


@pytest.mark.parametrize("reader", READERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(how=DIALECTS, table=tables())
def test_without_settings_no_number_is_read_as_another(
    tmp_path: Path, reader: Any, how: Written, table: Any
) -> None:
    """Decimal commas in files of commas are exported by nobody who also groups thousands."""
    if how.delimiter == "," and how.notation.decimal == ",":
        how = replace(how, notation=Notation())
    words, numbers = table
    file, expected = save(tmp_path, how, words, numbers)
    try:
        columns = reader(file, ReadOptions())
    except DataError:
        return  # refused in one sentence
    unreadable = inspect(file, ReadOptions()).unreadable
    for name, values in expected.items():
        if name in columns and name not in unreadable and columns[name].dtype.kind == "f":
            assert np.array_equal(columns[name], values, equal_nan=True), (name, columns[name])


@pytest.mark.parametrize("how", [
    Written(";", Notation(",", "."), "cp1252", "\r\n"),
    Written(";", Notation(","), "utf-8-sig", "\r\n", quote_all=True),
    Written("\t", Notation(","), "utf-16", "\r\n"),
    Written("|", Notation(".", ","), packed=".gz", comments=2),
    Written(",", Notation(".", "'"), "cp1252"),
])  # fmt: skip
@pytest.mark.parametrize("reader", READERS)
def test_common_exports_are_read_without_settings(
    tmp_path: Path, reader: Any, how: Written
) -> None:
    rng = np.random.default_rng(0)
    words = [f"Köln, {i} €" for i in range(300)]
    integers = [int(v) for v in rng.integers(-9_999_999, 9_999_999, 300)]
    numbers: list[tuple[list[int | None], int]] = [([*integers[:-1], None], 2), ([*integers], 0)]
    file, expected = save(tmp_path, how, words, numbers)
    columns = reader(file, ReadOptions())
    assert columns["größe"].tolist() == words
    for name, values in expected.items():
        assert np.array_equal(columns[name], values, equal_nan=True)


def test_a_dialect_is_described_in_words(tmp_path: Path) -> None:
    def describe(how: Written, *cells: str) -> str:
        return inspect(
            how.save(tmp_path, {"x": list(cells), "y": ["a"] * len(cells)}), ReadOptions()
        ).text

    assert describe(Written(), "1.5") == ""
    assert describe(Written(";"), "1,5") == "separated by semicolons, decimal comma"
    assert describe(Written("\t", encoding="utf-16"), "1.5") == "separated by tabs, encoding utf-16"
    assert describe(Written(comments=1, packed=".gz"), "1,234.5", "2") == (
        "thousands separated by commas, compressed, lines that start with '#' ignored"
    )


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("text", "names", "x"),
    [
        ("sep=;\nx;y\n1;2\n", ["x", "y"], [1]),
        ("# a\n# b\nx,y\n1,2\n# c\n3,4\n", ["x", "y"], [1, 3]),
        ("#x,y\n1,2\n", ["#x", "y"], None),
        ("##a\n##b\n#x\ty\n1\t2\n", ["#x", "y"], None),
        ("\n\nx,y\n\n1,2\n\n\n3,4\n", ["x", "y"], [1, 3]),
        ("x;y;;\n1;2;;\n3;4;;\n", ["x", "y", "Unnamed: 2", "Unnamed: 3"], [1, 3]),
        ("x\n1,5\n2,5\n", ["x"], [1.5, 2.5]),
        ("x\n1\n2\n", ["x"], [1, 2]),
        ("x,y\r1,2\r3,4\r", ["x", "y"], [1, 3]),
        ('x,y\n1,"a\n#b"\n2,c\n', ["x", "y"], [1, 2]),
        ("x,y\n1,2\n3,4\n# end of the file\n# 4 rows, in all, or so\n", ["x", "y"], [1, 3]),
        ("x,y\n#1,2\n#3,4\n", ["x", "y"], None),  # values that start with '#'
        ("Report of 2024\n\nx,y\n1,2\n3,4\n", ["x", "y"], [1, 3]),
        ("Export;;;\nUnit;A;;\n\nx;y;z;u\n1;a;2;b\n3;a;4;b\n", ["x", "y", "z", "u"], [1, 3]),
        ("# by IT\nReport: all, even small\nx;y;z\n1;2;3\n3;4;5\n", ["x", "y", "z"], [1, 3]),
        (",x,y\n0,1,2\n1,3,4\n", ["", "x", "y"], [1, 3]),
        ("a,,,\nbert,1,2,3\nfred,3,4,5\n", ["a", *(f"Unnamed: {i}" for i in (1, 2, 3))], None),
    ],
)
def test_lines_that_are_not_data(
    tmp_path: Path, reader: Any, text: str, names: list[str], x: list[float] | None
) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(text.encode())
    columns = reader(file, ReadOptions())
    assert list(columns) == names
    if x is not None:
        assert columns["x"].tolist() == x


@pytest.mark.parametrize("reader", READERS)
def test_column_names_may_be_in_a_later_line(tmp_path: Path, reader: Any) -> None:
    file = tmp_path / "t.csv"
    file.write_text("Report of the year\n\nx,y\n1,b\n2012-05-01,d\n")
    with pytest.raises(DataError, match=r"t.csv:3: 2 values for 1 columns; .* set header_line"):
        reader(file, ReadOptions())
    assert reader(file, ReadOptions(header_line=3))["y"].tolist() == ["b", "d"]


@pytest.mark.parametrize("reader", READERS)
def test_a_title_above_data_without_names_does_not_make_data_names(
    tmp_path: Path, reader: Any
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("Report\nanna,1,2\nbert,3,4\ncora,5,6\n")
    with pytest.raises(DataError) as caught:
        reader(file, ReadOptions())
    assert "anna" not in str(caught.value)


@pytest.mark.parametrize("reader", READERS)
def test_a_comment_that_was_not_detected_gets_a_hint(tmp_path: Path, reader: Any) -> None:
    file, row = tmp_path / "t.csv", f"{1:.20f},{2:.20f}\n"
    assert 7_000 * len(row) > HEAD
    file.write_text("x,y\n" + 7_000 * row + "# end\n")
    with pytest.raises(DataError, match="t.csv:7002: 1 value for 2 columns; if it is a comment"):
        reader(file, ReadOptions())
    assert len(reader(file, ReadOptions(comment="#"))["x"]) == 7_000


@pytest.mark.parametrize(
    ("options", "text", "words"),
    [
        ({"delimiter": ";"}, "x,y\n1,2\n", "delimiter = ';' under .data., but .* by commas"),
        (
            {"encoding": "utf-8"},
            "x,y\n1,2\n3,\xe4\n",
            "t.csv:3: the line is not valid utf-8, which",
        ),
        ({"encoding": "utf-16"}, "x,y\n1,2\n", "t.csv:1: the line is not valid utf-16"),
    ],
)
@pytest.mark.parametrize("reader", READERS)
def test_settings_that_the_file_contradicts_are_one_sentence(
    tmp_path: Path, reader: Any, options: dict[str, str], text: str, words: str
) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(text.encode("cp1252"))
    with pytest.raises(DataError, match=words):
        reader(file, ReadOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"decimal": ","}, {"thousands": "."}])
@pytest.mark.parametrize("reader", READERS)
def test_a_setting_rules_out_only_columns_that_contradict_it(
    tmp_path: Path, reader: Any, options: dict[str, str]
) -> None:
    """A column of versions must not prevent that another column is settled."""
    file = tmp_path / "t.csv"
    file.write_text("income;version\n4.482;1.5\n950;2.0\n")
    assert inspect(file, ReadOptions()).unreadable == {"income": Kind.AMBIGUOUS}
    settled = ReadOptions(**options)  # type: ignore[arg-type]
    assert inspect(file, settled).unreadable == {"version": Kind.CONTRADICTED}
    columns = reader(file, settled)
    assert columns["income"].tolist() == [4482, 950]
    assert columns["version"].tolist() == ["1.5", "2.0"]


def test_what_later_lines_contradict_is_named_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedclust.data.formats._text.HEAD", 100)
    monkeypatch.setattr("fedclust.data.formats._text._SCANNED", 100)
    file = tmp_path / "t.csv"
    head = "x;y\n" + "1,5;a\n" * 50
    file.write_bytes((head + "2;\xe4\n").encode("cp1252"))
    for reader in READERS:
        with pytest.raises(DataError, match=r"t.csv:52: the line is not valid utf-8, unlike"):
            reader(file, ReadOptions())
        assert reader(file, ReadOptions(encoding="cp1252"))["y"].tolist()[-1] == "ä"
    file.write_text(head + "1.234;a\n")
    for reader in READERS:
        assert reader(file, ReadOptions())["x"].tolist()[-1] == "1.234"  # not a number there
    assert locate([file, file], ReadOptions(), 50) == "t.csv:52"
    assert locate([file, file], ReadOptions(), 51) == "t.csv:2"
    file.write_text(head + "1,5;a;b\n")
    for reader in READERS:
        with pytest.raises(DataError, match=r"t.csv:52: 3 values for 2 columns$"):
            reader(file, ReadOptions())


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("reader", READERS)
def test_damaged_archives_are_one_sentence(tmp_path: Path, packed: str, reader: Any) -> None:
    file = Written(packed=packed).save(tmp_path, {"x": ["1.5"] * 9_000})
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"x" * 50, whole[:20] + b"secret" + whole[26:]):
        file.write_bytes(damaged)
        with pytest.raises(DataError, match=rf"t.csv{packed}: ") as caught:
            reader(file, ReadOptions())
        assert "secret" not in str(caught.value)


def test_without_pyarrow_text_files_of_any_size_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    how = Written(";", Notation(",", "."), "cp1252")
    file, expected = save(tmp_path, how, ["ä", "ö"], [([123456789, -5], 2)])
    assert read_large(file, ReadOptions())["x0"].tolist() == expected["x0"].tolist()


GOOD = 'id;größe;x\n1;"a\n#b";1,5\n2;c;1.234,5\n# comment\n3;;NULL\n'.encode()
MUTATIONS = st.lists(
    st.tuples(st.integers(0, len(GOOD)), st.integers(0, 4), st.binary(max_size=6)), max_size=6
)


@pytest.mark.parametrize("reader", READERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(changes=MUTATIONS, packed=st.sampled_from(list(PACKERS)), wide=st.booleans())
def test_damaged_files_are_read_or_refused_in_one_sentence(
    tmp_path: Path, reader: Any, changes: list[tuple[int, int, bytes]], packed: str, wide: bool
) -> None:
    raw = GOOD.decode().encode("utf-16") if wide else GOOD
    for place, length, new in changes:
        raw = raw[:place] + new + raw[place + length :]
    file = tmp_path / f"t.csv{packed}"
    file.write_bytes(PACKERS[packed](raw))
    try:
        columns = reader(file, ReadOptions())
    except DataError as error:
        assert str(error).startswith(f"{file}:")
        assert "\n" not in str(error)
        return
    assert len({len(values) for values in columns.values()}) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(changes=MUTATIONS)
def test_all_readers_agree_on_damaged_files(
    tmp_path: Path, changes: list[tuple[int, int, bytes]]
) -> None:
    raw = GOOD
    for place, length, new in changes:
        raw = raw[:place] + new + raw[place + length :]
    file = tmp_path / "t.csv"
    file.write_bytes(raw)
    found: list[dict[str, list[str]] | None] = []
    for reader in (read_small, read_large):
        try:
            columns = reader(file, ReadOptions())
        except DataError:
            found.append(None)
        else:
            found.append({name: list(map(str, values)) for name, values in columns.items()})
    assert found[0] == found[1]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_quote_that_is_not_closed_loses_no_rows(tmp_path: Path, reader: Any, column: int) -> None:
    rows = [["1", "2", "a"] for _ in range(50)]
    rows[30][column] = '"' + rows[30][column]
    file = tmp_path / "t.csv"
    file.write_text("x,y,z\n" + "\n".join(map(",".join, rows)))
    with pytest.raises(DataError, match="t.csv:32: a quote is opened here and never closed"):
        reader(file, ReadOptions())
