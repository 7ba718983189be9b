"""Every way in which a client's data files can be wrong."""

import gzip
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from .kit import FILE, ID, Table, csv_text, good_table, settings_text

WORDS = (
    "unspeakable-word",
    "Atlantis-Prime",
    "Shangri-La-9",
    "1987-11-23",
    "Müllerová",
    "thylacine_col",
    "wombat_data",
    "It differs by",
    "23/11/1987",
    "03/04/1987",
    "170.9182731",  # as text only: the mean of a constant is that constant
    ".2233441",
)
ODD = 7, 3  # every seventh row, from the fourth, has an odd value
_BASES = (9182736.4553, -83.7261549, 3.39172655e201)
VALUES = tuple(base * (1 + i / 1024) for base in _BASES for i in range(40)[ODD[1] :: ODD[0]])

Damage = Callable[[Path], object]


def with_column(name: str, change: Callable[[int, str], str]) -> Damage:
    """A file in which one column has other values."""

    def write(kit: Path) -> None:
        table = good_table()
        table[name] = [change(i, value) for i, value in enumerate(table[name])]
        (kit / FILE).write_text(csv_text(table))

    return write


def some(word: str, every: int = ODD[0]) -> Callable[[int, str], str]:
    return lambda i, value: word if i % every == ODD[1] else value


def odd_numbers(base: float) -> Callable[[int, str], str]:
    """A different number in every odd row: the mean of equal ones would be the value itself."""
    return lambda i, value: repr(base * (1 + i / 1024)) if i % ODD[0] == ODD[1] else value


def with_table(change: Callable[[Table], Table]) -> Damage:
    return lambda kit: (kit / FILE).write_text(csv_text(change(good_table())))


def with_bytes(raw: bytes) -> Damage:
    return lambda kit: (kit / FILE).write_bytes(raw)


def without(name: str) -> Callable[[Table], Table]:
    return lambda table: {key: values for key, values in table.items() if key != name}


def first_rows(n: int) -> Callable[[Table], Table]:
    return lambda table: {key: values[:n] for key, values in table.items()}


def with_text(change: Callable[[str], str], encoding: str = "utf-8") -> Damage:
    text = csv_text(good_table())
    return lambda kit: (kit / FILE).write_bytes(change(text).encode(encoding))


def make_folder(kit: Path) -> None:
    (kit / FILE).unlink()
    (kit / FILE).mkdir()


def make_unreadable(kit: Path) -> None:
    (kit / FILE).chmod(0)


def name_file(name: str, raw: bytes | None = None) -> Damage:
    """A client.toml that names another file."""

    def write(kit: Path) -> None:
        if raw is not None:
            (kit / name).write_bytes(raw)
        (kit / "client.toml").write_text(settings_text(file=name))

    return write


def parquet(change: Callable[[dict[str, Any]], dict[str, Any]], cut: int | None = None) -> Damage:
    """A parquet file, which may end too early."""

    def write(kit: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet")
        table: dict[str, Any] = dict(good_table())
        for name in ("height_cm", "weight_kg", "salary_eur"):
            table[name] = [float(value) for value in table[name]]
        target = kit / "wombat_data.parquet"
        pyarrow.parquet.write_table(pyarrow.table(change(table)), target)
        target.write_bytes(target.read_bytes()[:cut])
        (kit / "client.toml").write_text(settings_text(file=target.name))

    return write


def dates(table: dict[str, Any]) -> dict[str, Any]:
    return {**table, "height_cm": [date(1987, 11, 23) + timedelta(i) for i in range(40)]}


def lists(table: dict[str, Any]) -> dict[str, Any]:
    return {**table, "height_cm": [[value, 1.0] for value in table["height_cm"]]}


def two_files(kit: Path) -> None:
    table = good_table()
    (kit / f"more_{FILE}").write_text(csv_text({**table, "thylacine_col": table["height_cm"]}))
    (kit / "client.toml").write_text(settings_text(file=f"*{FILE}"))


def german(text: str) -> str:
    return text.replace(",", ";").replace(".", ",")


def packed(change: Callable[[str], str], cut: int | None = None) -> Damage:
    """A compressed file, which may end too early."""
    raw = gzip.compress(change(csv_text(good_table())).encode())
    return name_file("wombat_data.csv.gz", raw[:cut])


def workbook(sheet: str = "", **words: str) -> Damage:
    """A workbook with a word among the numbers of some columns, and a sheet that is wanted."""

    def write(kit: Path) -> None:
        openpyxl = pytest.importorskip("openpyxl")
        pytest.importorskip("python_calamine")
        book, table = openpyxl.Workbook(), good_table()
        book.active.title = "unspeakable-word"
        book.active.append(list(table))
        for i, row in enumerate(zip(*table.values(), strict=True)):
            cells = dict(zip(table, row, strict=True))
            odd = {n: words[n] if n in words and i % 7 == 3 else v for n, v in cells.items()}
            book.active.append([odd[n] if n in ID else _as_cell(odd[n]) for n in table])
        book.save(kit / "wombat_data.xlsx")
        wanted = f'sheet = "{sheet}"' if sheet else ""
        (kit / "client.toml").write_text(settings_text(data=wanted, file="wombat_data.xlsx"))

    return write


def _as_cell(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def with_setting(line: str, change: Callable[[str], str] = str) -> Damage:
    def write(kit: Path) -> None:
        (kit / FILE).write_text(change(csv_text(good_table())))
        (kit / "client.toml").write_text(settings_text(data=line))

    return write


BAD_FILES: dict[str, Damage] = {
    "good": lambda kit: None,
    "missing": lambda kit: (kit / FILE).unlink(),
    "empty": with_bytes(b""),
    "folder": make_folder,
    "unreadable": make_unreadable,
    "blank lines": with_bytes(b"\n\n\n"),
    "not csv": with_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8),
    "nul bytes": with_text(lambda text: text.replace("Oslo", "Os\x00lo")),
    "utf-16": with_text(lambda text: text.replace("Oslo", "Müllerová"), "utf-16"),
    "latin-2": with_text(lambda text: text.replace("Oslo", "Müllerová"), "iso-8859-2"),
    "other words": with_text(lambda text: text.replace("Oslo", "Müllerová")),
    "ragged": with_text(lambda text: text.replace("Oslo", "Oslo,unspeakable-word,7")),
    "short lines": with_text(lambda text: text.replace(",kuru-type-Q", "")),
    "open quote": with_text(lambda text: text.replace("Oslo", '"unspeakable-word', 1)),
    "two columns of one name": with_text(lambda text: text.replace("salary_eur", "height_cm", 1)),
    "other names": with_text(lambda text: text.replace("diagnosis", "thylacine_col", 1)),
    "column missing": with_table(without("height_cm")),
    "words": with_column("height_cm", some("unspeakable-word")),
    "one word": with_column("weight_kg", some("unspeakable-word", 41)),
    "undeclared category": with_column("city", some("Atlantis-Prime")),
    "rare category": with_column("city", some("Shangri-La-9", 41)),
    "dates as text": with_column("height_cm", lambda i, value: "1987-11-23"),
    "dates": parquet(dates),
    "lists": parquet(lists),
    "infinite": with_column("height_cm", some("inf")),
    "not positive": with_column("weight_kg", odd_numbers(-83.7261549)),
    "zero": with_column("weight_kg", some("0")),
    "out of bounds": with_column("height_cm", odd_numbers(9182736.4553)),
    "huge": with_column("height_cm", odd_numbers(3.39172655e201)),
    "all missing": with_column("height_cm", lambda i, value: ""),
    "mostly missing": with_column("height_cm", lambda i, value: value if i % 7 == 3 else ""),
    "constant": with_column("height_cm", lambda i, value: "170.9182731"),
    "no rows": with_table(first_rows(0)),
    "one row": with_table(first_rows(1)),
    "two rows": with_table(first_rows(2)),
    "four rows": with_table(first_rows(4)),
    "repeated ids": with_column(ID, some("PX-881734")),
    "empty ids": with_column(ID, some("")),
    "broken ids": with_column(ID, lambda i, value: f"{i}.2233441"),
    "id missing": with_table(without(ID)),
    "only ids": with_table(lambda table: {ID: table[ID]}),
    "two files": two_files,
    "unknown format": name_file("wombat_data.xyz", b"PX-881734"),
    "long name": name_file("wombat_data" * 40),
    "damaged npz": name_file("wombat_data.npz", b"PK\x03\x04" + b"PX-881734" * 9),
    "damaged feather": name_file("wombat_data.feather", b"ARROW1" + b"PX-881734" * 9),
    "damaged parquet": name_file("wombat_data.parquet", b"PAR1" + b"PX-881734" * 9 + b"PAR1"),
    "semicolons": with_text(lambda text: text.replace(",", ";")),
    "decimal commas": with_text(german, "cp1252"),
    "decimal commas with words": with_text(
        lambda text: german(text).replace("Oslo;", "Müllerová;;").replace(";;", ";"), "cp1252"
    ),
    "doubtful numbers": with_column("height_cm", lambda i, value: '"1,234"'),
    "both marks": with_text(lambda text: german(text).replace("150,", "150.")),
    "total": with_text(lambda text: text + "Total,1,2,9182736.4553,unspeakable-word,\n"),
    "almost empty last row": with_text(lambda text: text + ",,,9182736.4553,,\n"),
    "comments": with_text(lambda text: "# unspeakable-word, and PX-881734\n" + text),
    "title above the names": with_text(lambda text: "unspeakable-word\n\n" + text),
    "delimiter in the first line": with_text(lambda text: "sep=,\n" + text),
    "names that are nearly the same": with_text(
        lambda text: text.replace("height_cm", "Height_CM ")
    ),
    "columns without names": with_text(lambda text: text.replace("\n", ",,\n")),
    "days and months": with_column("height_cm", lambda i, value: "03/04/1987"),
    "days first": with_column("height_cm", lambda i, value: "23/11/1987"),
    "missing words": with_column("city", some("None")),
    "gzip": packed(lambda text: text.replace("Oslo", "Müllerová")),
    "cut gzip": packed(lambda text: text, cut=300),
    "damaged gzip": name_file("wombat_data.csv.gz", b"\x1f\x8b" + b"PX-881734" * 9),
    "gzip of something else": name_file("wombat_data.gz", b"PX-881734"),
    "renamed archive": with_bytes(b"PK\x03\x04" + b"PX-881734" * 9),
    "damaged excel": name_file("wombat_data.xlsx", b"PK\x03\x04" + b"PX-881734" * 9),
    "old excel": name_file("wombat_data.xls", b"\xd0\xcf\x11\xe0" + b"PX-881734" * 9),
    "excel": workbook(),
    "excel with words": workbook(height_cm="unspeakable-word", city="Atlantis-Prime"),
    "excel without the sheet": workbook("Shangri-La-9"),
    "wrong delimiter": with_setting('delimiter = "|"'),
    "wrong decimal mark": with_setting('decimal = ","'),
    "wrong encoding": with_setting('encoding = "utf-16"'),
    "wrong header": with_setting("header_line = 3"),
    "header beyond the end": with_setting("header_line = 300"),
    "cut parquet": parquet(lambda table: table, cut=900),
    "parquet without the column": parquet(without("height_cm")),
}
