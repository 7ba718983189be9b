"""Files as people export them: each is read, or one sentence says what to do.

Each case is a file that a newcomer met. `init` drafts a study of two such files, `check` looks at
it, and no column of numbers is lost without a word.
"""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.data.names import near_names
from fedclust.study import read_study, run_study, survey_study

invoke = CliRunner().invoke
Rows = list[list[str]]
NAMES = ["person", "age", "weight", "town"]


class Case(NamedTuple):
    """How the files are written, and what users see."""

    write: Callable[[Path, str, Rows], None]
    init: tuple[str, ...] = ()  # said by init
    check: tuple[str, ...] = ()  # said by check
    passes: bool = True
    kind: str = "csv"


def rows(seed: int, n: int = 60) -> Rows:
    rng = np.random.default_rng(seed)
    values = rng.normal((50, 70), 9, (n, 2))
    towns = ["Köln" if i % 3 else "Bonn" for i in range(n)]
    return [
        [f"p{seed}-{i}", f"{age:.2f}", f"{weight:.1f}", towns[i]]
        for i, (age, weight) in enumerate(values)
    ]


def text(
    separator: str = ",",
    encoding: str = "utf-8",
    change: Callable[[int, list[str]], list[str]] = lambda i, row: row,
    above: str = "",
    below: str = "",
    names: list[str] = NAMES,
) -> Callable[[Path, str, Rows], None]:
    def write(folder: Path, client: str, table: Rows) -> None:
        lines = [separator.join(change(i, row)) for i, row in enumerate(table)]
        whole = above + "\n".join([separator.join(names), *lines]) + "\n" + below
        (folder / f"{client}.csv").write_bytes(whole.encode(encoding))

    return write


def german(i: int, row: list[str]) -> list[str]:
    return [row[0], row[1].replace(".", ","), row[2].replace(".", ","), row[3]]


def some(column: int, word: str, every: int = 20) -> Callable[[int, list[str]], list[str]]:
    def change(i: int, row: list[str]) -> list[str]:
        return [*row[:column], word, *row[column + 1 :]] if i % every == 3 else row

    return change


def thousands(i: int, row: list[str]) -> list[str]:
    value = float(row[2]) * 50
    return [*row[:2], f'"{value:,.0f}"' if i % 2 else f"{value:.1f}", row[3]]


def tsv(folder: Path, client: str, table: Rows) -> None:
    text("\t")(folder, client, table)
    (folder / f"{client}.csv").rename(folder / f"{client}.tsv")


def packed(folder: Path, client: str, table: Rows) -> None:
    text()(folder, client, table)
    plain = folder / f"{client}.csv"
    (folder / f"{client}.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()


def excel(folder: Path, client: str, table: Rows) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(NAMES)
    for row in table:
        sheet.append([row[0], float(row[1]), float(row[2]), row[3]])
    book.create_sheet("notes")
    book.save(folder / f"{client}.xlsx")


def dated(i: int, row: list[str]) -> list[str]:
    return [*row[:3], f"20{10 + i % 9}-0{1 + i % 9}-1{i % 9}"]


def timestamps(folder: Path, client: str, table: Rows) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    days = np.array([f"2020-01-{1 + i % 28:02d}" for i in range(len(table))], dtype="M8[ms]")
    columns = {
        "person": [row[0] for row in table],
        "age": [float(row[1]) for row in table],
        "weight": [float(row[2]) for row in table],
        "town": pa.array(days),
    }
    parquet.write_table(pa.table(columns), folder / f"{client}.parquet")


STRAY = "60 values are numbers; the others: 3 x "
CASES = {
    "UTF-8 with a byte order mark": Case(text(encoding="utf-8-sig")),
    "Latin-1": Case(text(encoding="cp1252"), ("encoding cp1252",), ("encoding cp1252",)),
    "UTF-16 of Excel": Case(
        text("\t", "utf-16", german),
        ("separated by tabs, decimal comma, encoding utf-16",),
        ("separated by tabs, decimal comma, encoding utf-16",),
    ),
    "semicolons": Case(text(";"), ("separated by semicolons",), ("separated by semicolons",)),
    "German Excel": Case(
        text(";", "utf-8-sig", german),
        ("n.csv, s.csv: separated by semicolons, decimal comma",),
        ("separated by semicolons, decimal comma",),
    ),
    "tabs": Case(tsv, ("separated by tabs",), ("separated by tabs",), kind="tsv"),
    "gzip": Case(packed, ("compressed",), ("compressed",), kind="csv.gz"),
    "Excel": Case(excel, ("sheet 'Sheet' of 2",), ("sheet 'Sheet' of 2",), kind="xlsx"),
    "N/A": Case(text(change=some(2, "N/A"))),
    "NULL": Case(text(change=some(2, "NULL"))),
    "#N/A": Case(text(change=some(2, "#N/A"))),
    "one stray word": Case(
        text(change=some(2, "12h", 60)),
        ("column 'weight': n.csv, s.csv: 59 of 60 values are numbers; the other is '12h'",),
        ("59 of 60 values are numbers; the other is '12h'; first in n.csv:5", "blocking"),
        passes=False,
    ),
    "a few stray words": Case(
        text(change=some(2, "unknown")),
        (f"57 of {STRAY}'unknown'; first in line 5",),
        (f"57 of {STRAY}'unknown'; first in n.csv:5", "list them under na_values"),
        passes=False,
    ),
    "thousands separators": Case(
        text(change=thousands),
        ("thousands separated by commas",),
        ("thousands separated by commas",),
    ),
    "only doubtful groups of three digits": Case(
        text(";", change=lambda i, row: [row[0], str(i), "1,234", row[3]]),
        ("has numbers such as 1,234 that can be read in two ways; set decimal or thousands",),
        ("has numbers such as 1,234 that can be read in two ways; set decimal or thousands",),
        passes=False,
    ),
    "comment lines": Case(
        text(above="# exported on Monday\n# by hand\n"),
        ("lines that start with '#' ignored",),
        ("lines that start with '#' ignored",),
    ),
    "total at the end": Case(
        text(below="Total,3000,4200,\n"),
        ("the last row looks like a total or is almost empty (line 62); remove it from the file",),
        ("looks like a total or is almost empty; remove it from the file (n.csv:62)", "warning"),
    ),
    "almost empty last row": Case(
        text(below=",,4200,\n"),
        ("is almost empty (line 62)",),
        ("is almost empty",),
    ),
    "dates as text": Case(text(change=dated), (), ("Not used: town (dates)",)),
    "timestamps": Case(timestamps, (), ("Not used: town (dates)",), kind="parquet"),
}


def drafted(folder: Path, case: Case) -> Any:
    for seed, client in enumerate(("n", "s")):
        case.write(folder, client, rows(seed))
    files = [str(folder / f"{client}.{case.kind}") for client in ("n", "s")]
    return invoke(app, ["init", *files, "--out", str(folder / "s.toml"), "--n-clusters", "2"])


def plain(output: str) -> str:
    """Without the frame of a table and its line breaks."""
    return " ".join(output.translate({ord(c): " " for c in "│┃━┏┓┗┛┡┩└┘─┴┬"}).split())


@pytest.mark.parametrize("name", CASES)
def test_the_file_is_read_or_one_sentence_says_what_to_do(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    shown = drafted(tmp_path, case)
    assert shown.exit_code == 0, shown.output
    for words in case.init:
        assert words in plain(shown.output)
    study = read_study(tmp_path / "s.toml")
    assert [column.name for column in study.features or ()] == ["age", "weight"]
    assert study.data.id == "person"
    checked = invoke(app, ["check", str(tmp_path / "s.toml")], env={"COLUMNS": "400"})
    assert checked.exit_code == (0 if case.passes else 1), checked.output
    for words in case.check:
        assert words in plain(checked.output)
    survey = survey_study(study)
    assert [column.name for column in survey.columns] == ["age", "weight"]
    if case.passes:
        done = run_study(study, tmp_path / "run")
        assert done.rows == sum(n or 0 for n in survey.rows.values()) >= 120


@pytest.mark.parametrize("name", ["German Excel", "gzip", "Excel", "UTF-16 of Excel", "tabs"])
def test_the_clusters_are_those_of_plain_files(tmp_path: Path, name: str) -> None:
    models = []
    for folder, case in (("plain", Case(text())), ("messy", CASES[name])):
        (tmp_path / folder).mkdir()
        drafted(tmp_path / folder, case)
        study = read_study(tmp_path / folder / "s.toml")
        models.append(run_study(study, tmp_path / folder / "run").model)
    assert (models[0].centers == models[1].centers).all()


def test_dates_are_proposed_as_numbers_and_can_be_used(tmp_path: Path) -> None:
    drafted(tmp_path, CASES["dates as text"])
    file = tmp_path / "s.toml"
    line = '# town = { derive = "year" }    # dates; or month, day-of-year, weekday, hour, days'
    assert line in file.read_text()
    file.write_text(file.read_text().replace("# town = {", "town = {"))
    done = run_study(read_study(file), tmp_path / "run")
    assert done.model.preparation.names == ["age", "weight", "town (year)"]


def test_a_word_that_usually_is_missing_may_be_a_category(tmp_path: Path) -> None:
    shown = drafted(tmp_path, Case(text(change=some(3, "None", 4))))
    words = "15 x 'None' read as missing; if it is a category, set keep_default_na = false"
    assert words in plain(shown.output)
    file = tmp_path / "s.toml"
    declared = 'town = { categories = ["Bonn", "Köln", "None"] }'
    file.write_text(file.read_text() + declared + "\n")
    problems = [p for p in survey_study(read_study(file)).problems if p.blocking]
    assert {(p.column, p.code, p.detail) for p in problems} == {
        ("town", "category-missing", "None")
    }
    setting = "[data]\nkeep_default_na = false"
    file.write_text(file.read_text().replace("[data]", setting))
    assert survey_study(read_study(file)).passes


def test_names_that_differ_by_blanks_or_case_get_a_hint(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("Age ,weight\n" + "1,2\n3,4\n" * 9)
    (tmp_path / "s.csv").write_text("age,weight\n" + "1,2\n3,4\n" * 9)
    files = [str(tmp_path / "n.csv"), str(tmp_path / "s.csv")]
    out = tmp_path / "s.toml"
    shown = invoke(app, ["init", *files, "--out", str(out)])
    assert "'Age ' in n.csv and 'age' in s.csv differ by blanks and case" in plain(shown.output)
    out.write_text(out.read_text() + "age = {}\n")
    checked = invoke(app, ["check", str(out)], env={"COLUMNS": "300"})
    assert "did you mean 'Age '? It differs by blanks and case" in plain(checked.output)
    (tmp_path / "s.csv").write_text("age\n" + "1\n3\n" * 9)
    shown = invoke(app, ["init", *files, "--out", str(out), "--force"])
    assert shown.exit_code == 1
    words = "share no column; 'Age ' in n.csv and 'age' in s.csv differ by blanks and case; rename"
    assert words in plain(shown.output)


@pytest.mark.parametrize(
    ("written", "by"), [("WEIGHT", "case"), ("weihgt", ""), ("weigt", "one letter"), ("height", "")]
)
def test_names_that_differ_by_one_letter_get_a_hint(tmp_path: Path, written: str, by: str) -> None:
    (tmp_path / "n.csv").write_text(f"id,age,{written}\n" + "1,1,2\n2,3,4\n" * 9)
    (tmp_path / "s.csv").write_text("id,age,weight\n" + "1,1,2\n2,3,4\n" * 9)
    files = [str(tmp_path / "n.csv"), str(tmp_path / "s.csv")]
    out = tmp_path / "s.toml"
    shown = invoke(app, ["init", *files, "--out", str(out)])
    checked = invoke(app, ["check", str(out)], env={"COLUMNS": "300"})
    words = f"{written!r} in {{}} and 'weight' in {{}} differ by {by}"
    assert (words.format("n.csv", "s.csv") in plain(shown.output)) == bool(by)
    assert (words.format("n", "s") in plain(checked.output)) == bool(by)
    assert f"Not used: {written} (not in all files), weight (not in all files)" in checked.output


def test_a_column_with_units_in_one_file_is_not_dropped_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("age,cost\n" + "1,2\n3,4\n" * 9)
    (tmp_path / "s.csv").write_text("age,cost\n" + "1,2 EUR\n3,4 EUR\n" * 9)
    files = [str(tmp_path / "n.csv"), str(tmp_path / "s.csv")]
    out = tmp_path / "s.toml"
    shown = invoke(app, ["init", *files, "--out", str(out)])
    words = "has numbers in some files, and text in s.csv, such as '2 EUR'"
    assert f"column 'cost': {words}" in plain(shown.output)
    assert f"# cost: {words}" in out.read_text()
    assert "Not used: cost (numbers or text)" in invoke(app, ["check", str(out)]).output


def test_a_file_without_rows_is_no_file_with_text(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("id,age\n" + "".join(f"p{i},{i % 7}\n" for i in range(9)))
    (tmp_path / "s.csv").write_text("id,age\n")
    files = [str(tmp_path / "n.csv"), str(tmp_path / "s.csv")]
    shown = invoke(app, ["init", *files, "--out", str(tmp_path / "s.toml")])
    assert "s.csv: there are no rows" in plain(shown.output)
    assert "has numbers in some files" not in shown.output


def test_numbered_names_are_different_names() -> None:
    assert near_names({"a": ["visit_1", "dose12"], "b": ["visit_2", "dose1"]}) == []
    assert len(near_names({"a": ["visit_1", "x"], "b": ["visits_1", "x"]})) == 1


def test_columns_that_share_an_id_and_differ_by_blanks_get_a_hint(tmp_path: Path) -> None:
    """Such files could be taken for different columns of the same records."""
    lines = "".join(f"{i},{i % 7},{i % 5}\n" for i in range(40))
    (tmp_path / "n.csv").write_text(f"id,age ,weight \n{lines}")
    (tmp_path / "s.csv").write_text(f"id,age,weight\n{lines}")
    files = [str(tmp_path / "n.csv"), str(tmp_path / "s.csv")]
    shown = invoke(app, ["init", *files, "--out", str(tmp_path / "s.toml")])
    assert shown.exit_code == 1
    words = "'age ' in n.csv and 'age' in s.csv differ by blanks, and 1 more pairs are as close"
    assert words in plain(shown.output)


def test_infinite_values_are_counted_and_found(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("age,weight\n" + "1,2\n3,4\n" * 9 + "inf,3\n5,-inf\ninf,4\n")
    out = tmp_path / "s.toml"
    assert invoke(app, ["init", str(tmp_path / "n.csv"), "--out", str(out)]).exit_code == 0
    checked = invoke(app, ["check", str(out)], env={"COLUMNS": "300"})
    assert checked.exit_code == 1
    words = "has infinite values; correct them, or list their words under na_values (2; first in"
    assert f"{words} n.csv:20)" in plain(checked.output)
    out.write_text(out.read_text().replace("[data]", '[data]\nna_values = ["inf", "-inf"]'))
    assert invoke(app, ["check", str(out)]).exit_code == 0


def test_an_id_is_found_in_any_number_of_files(tmp_path: Path) -> None:
    for seed in range(16):
        table = [[f"{seed}{i:03d}-x", *row[1:]] for i, row in enumerate(rows(seed))]
        text(change=lambda i, row: row)(tmp_path, f"c{seed:02d}", table)
    out = tmp_path / "s.toml"
    files = [str(file) for file in sorted(tmp_path.glob("*.csv"))]
    assert invoke(app, ["init", *files, "--out", str(out)]).exit_code == 0
    assert read_study(out).data.id == "person"  # although the ids start with digits


def test_files_that_share_ids_and_nothing_else_split_columns(tmp_path: Path) -> None:
    ids = [f"p{i}" for i in range(50)]
    (tmp_path / "bank.csv").write_text(
        "person,income\n" + "".join(f"{p},{i}\n" for i, p in enumerate(ids))
    )
    (tmp_path / "shop.csv").write_text(
        "person,spent\n" + "".join(f"{p},{i * i}\n" for i, p in enumerate(ids[::-1]))
    )
    out, files = tmp_path / "s.toml", [str(tmp_path / "bank.csv"), str(tmp_path / "shop.csv")]
    shown = invoke(app, ["init", *files, "--out", str(out)])
    assert "the study splits columns" in plain(shown.output)
    study = read_study(out)
    assert (study.data.split, study.data.id, study.clustering.n_clusters) == (
        "columns",
        "person",
        3,
    )
    assert survey_study(study).passes
    assert run_study(study, tmp_path / "run").used == 50
    (tmp_path / "shop.csv").write_text("person,spent\n" + "".join(f"q{i},{i}\n" for i in range(50)))
    shown = invoke(app, ["init", *files, "--out", str(out), "--force"])
    assert "share no numeric column" in plain(shown.output)  # other records


def test_each_client_can_have_settings_of_its_own(tmp_path: Path) -> None:
    text(";", change=lambda i, row: [row[0], str(i), "1,234", row[3]])(tmp_path, "n", rows(0))
    text("|", change=lambda i, row: [row[0], str(i), "1,234", row[3]])(tmp_path, "s", rows(1))
    (tmp_path / "s.toml").write_text("""
[clients]
n = { file = "n.csv", decimal = "," }

[clients.s]
file = "s.csv"
thousands = ","
id = "town"

[clustering]
algorithm = "lossless"
n_clusters = 2

[data]
id = "person"

[features]
weight = {}
""")
    study = read_study(tmp_path / "s.toml")
    assert dict(study.clients) == {"n": "n.csv", "s": "s.csv"}
    assert (study.file_settings("n").id, study.file_settings("s").id) == ("person", "town")
    done = run_study(study, tmp_path / "run")
    low, high = sorted(done.model.centers_in_units[:, 0])
    assert (low, high) == (pytest.approx(1.234), pytest.approx(1234))


def test_control_characters_in_names_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[31mage\u202e"
    for client in ("n", "s"):
        (tmp_path / f"{client}.csv").write_text(f"{evil},b\n" + "1,2\n3,4\n" * 9)
    files, out = [str(tmp_path / "n.csv"), str(tmp_path / "s.csv")], str(tmp_path / "s.toml")
    for command in (["init", *files, "--out", out], ["check", out], ["run", out]):
        shown = invoke(app, command)
        assert shown.exit_code == 0, shown.output
        assert not {"\x1b", "\x07", "\u202e"} & set(shown.output), command
    assert "\\x1b]0;owned" in invoke(app, ["check", out]).output
