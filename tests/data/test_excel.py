"""Sheets of Excel and OpenDocument give the same columns as text files."""

import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError, DataError
from fedclust.data import Kind, ReadOptions
from fedclust.data.files import inspect, locate, read_table
from fedclust.data.streams import column_kinds

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")


def save(folder: Path, *sheets: list[list[Any]], first_row: int = 1) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {number}")
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                sheet.cell(first_row + i, 1 + j, cell)
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def test_cells_of_all_types(tmp_path: Path) -> None:
    file = save(
        tmp_path,
        [
            ["id", "x", "n", "word", "flag", "day", "text number", "mixed"],
            [7, 1.5, 3, "a", True, date(2024, 5, 1), "12,5", 1],
            ["08", None, 4, None, False, datetime(2024, 5, 2, 12), "1.234,5", "NULL"],
            [123456789012, "N/A", 5, " b ", None, None, "3", "12h"],
        ],
    )
    table = read_table([file], id="id")
    assert table["id"].tolist() == ["7", "08", "123456789012"]
    assert np.array_equal(table["x"], [1.5, np.nan, np.nan], equal_nan=True)
    assert table["n"].tolist() == [3, 4, 5]
    assert table["word"].tolist() == ["a", None, "b"]
    assert table["flag"].tolist() == ["true", "false", None]
    assert table["day"].dtype.kind == "M"
    assert np.isnat(table["day"]).tolist() == [False, False, True]
    assert table["text number"].tolist() == [12.5, 1234.5, 3]
    assert table["mixed"].tolist() == ["1", None, "12h"]


def test_doubtful_numbers_that_are_stored_as_text_are_ambiguous(tmp_path: Path) -> None:
    file = save(tmp_path, [["x", "y"], ["1.234", 1.5], ["2.345", 2.5]])
    assert inspect(file, ReadOptions()).unreadable == {"x": Kind.AMBIGUOUS}
    assert inspect(file, ReadOptions(decimal=".")).unreadable == {}
    assert read_table([file], ReadOptions(decimal="."))["x"].tolist() == [1.234, 2.345]
    assert read_table([file], ReadOptions(thousands="."))["x"].tolist() == [1234, 2345]


def test_the_sheet_that_is_used_is_named_and_can_be_set(tmp_path: Path) -> None:
    file = save(tmp_path, [["x"], [1]], [["y"], [2]])
    assert list(read_table([file])) == ["x"]
    assert inspect(file, ReadOptions()).text == "sheet 'sheet 0' of 2"
    assert list(read_table([file], ReadOptions(sheet="sheet 1"))) == ["y"]
    with pytest.raises(DataError, match="there is no sheet 'shet 1'; did you mean 'sheet 1'"):
        read_table([file], ReadOptions(sheet="shet 1"))
    with pytest.raises(DataError, match="there is no sheet 'other'; it has sheet 0, sheet 1"):
        read_table([file], ReadOptions(sheet="other"))


def test_hidden_sheets_are_not_used(tmp_path: Path) -> None:
    file = save(tmp_path, [["x"], [1]], [["y"], [2]])
    book = openpyxl.load_workbook(file)
    book["sheet 0"].sheet_state = "hidden"
    book.save(file)
    assert list(read_table([file])) == ["y"]


def test_rows_are_named_as_excel_numbers_them(tmp_path: Path) -> None:
    file = save(tmp_path, [["x", "y"], [1, 2], [], [3, 4]], first_row=3)
    assert read_table([file])["x"].tolist() == [1, 3]
    assert locate([file], ReadOptions(), 1) == "t.xlsx:6"


def test_a_title_above_the_names(tmp_path: Path) -> None:
    file = save(tmp_path, [["Report"], [], ["x", "y", "z"], [1, 2, 3], [4, 5, 6]])
    assert read_table([file])["z"].tolist() == [3, 6]
    assert inspect(file, ReadOptions()).text == "names of columns in row 3"
    assert locate([file], ReadOptions(), 1) == "t.xlsx:5"


def test_a_title_above_rows_that_are_not_clear(tmp_path: Path) -> None:
    file = save(tmp_path, [["Report"], [], ["x", "", "z"], ["a", "b", "c"], ["d", "e", "f"]])
    with pytest.raises(DataError, match=r"row 1 has 1 names for 3 columns; set header_line"):
        read_table([file])
    assert read_table([file], ReadOptions(header_line=3))["z"].tolist() == ["c", "f"]


def test_a_sheet_of_remarks_is_passed_over(tmp_path: Path) -> None:
    remarks: list[list[Any]] = [["Export of all patients"], ["made", 2024], ["rows", 300]]
    file = save(tmp_path, remarks, [["x", "y"], ["a", 2], ["b", 4]], [["z"], [5]])
    assert read_table([file])["y"].tolist() == [2, 4]
    assert inspect(file, ReadOptions()).text == "sheet 'sheet 1' of 3"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "the sheet is empty"),
        ([[1, 2], [3, 4]], "t.xlsx:1: this line has values, not names"),
        ([["anna", 1.5], ["bert", 2.5]], "this line has values, not names"),
        ([["x", "x"], [1, 2]], "two columns are called 'x'"),
    ],
)
def test_sheets_that_are_no_tables(tmp_path: Path, rows: list[list[Any]], words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read_table([save(tmp_path, rows)])
    assert "anna" not in str(caught.value)


def test_damaged_workbooks_are_one_sentence(tmp_path: Path) -> None:
    file = save(tmp_path, [["x"], [1]])
    file.write_text("x,y\n1,2\n")
    with pytest.raises(DataError, match=r"not a readable Excel file: it is text; name it .csv"):
        read_table([file])
    save(tmp_path, [["x"], [1]])
    for raw in (b"PK\x03\x04", b"nonsense", file.read_bytes()[:500]):
        file.write_bytes(raw)
        with pytest.raises(DataError, match="t.xlsx: not a readable Excel file"):
            read_table([file])


def test_sheets_are_not_read_in_batches(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="t.xlsx: only .* files can be read in batches; save it"):
        column_kinds([save(tmp_path, [["x"], [1]])], ReadOptions())


def test_opendocument_sheets_are_read(tmp_path: Path) -> None:
    cell = '<table:table-cell office:value-type="{}"{}><text:p>{}</text:p></table:table-cell>'
    number = cell.format("float", ' office:value="1.5"', "1,5")
    rows = "".join(
        f"<table:table-row>{content}</table:table-row>"
        for content in (cell.format("string", "", "x"), number, number)
    )
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    content = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="a">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", '<manifest:manifest xmlns:manifest="urn:x"/>')
    assert read_table([tmp_path / "t.ods"])["x"].tolist() == [1.5, 1.5]


def test_without_the_reader_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = save(tmp_path, [["x"], [1]])
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(ConfigError, match=r"pip install 'fedclust\[excel\]'"):
        read_table([file])
