"""A first study file, from files or from answers, can be read and run."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import DataError
from fedclust.cli import app
from fedclust.cli.tools.draft import draft
from fedclust.cli.tools.examples import EXAMPLES
from fedclust.study import read_study, survey_study

from .example import write

invoke = CliRunner().invoke


def test_a_draft_names_what_the_files_share(tmp_path: Path) -> None:
    write(tmp_path)
    out = tmp_path / "first.toml"
    files = [str(tmp_path / "north.csv"), f"the south={tmp_path / 'south.csv'}"]
    shown = invoke(app, ["init", *files, "--out", str(out)])
    assert shown.exit_code == 0, shown.output
    study = read_study(out)
    assert dict(study.clients) == {"north": "north.csv", "the south": "south.csv"}
    assert study.clustering.n_clusters == "auto"
    assert study.data.id == "patient"  # text without repeated values
    assert [column.name for column in study.features or ()] == ["age", "weight"]
    assert '# sex = { categories = ["f", "m"] }' in out.read_text()
    assert survey_study(study).passes
    again = invoke(app, ["init", *files, "--out", str(out)])
    assert again.exit_code == 1
    assert "exists already" in " ".join(again.output.split())


def test_answers_make_a_study(tmp_path: Path) -> None:
    write(tmp_path)
    out = tmp_path / "asked.toml"
    said = f"north\n{tmp_path / 'north.csv'}\nsouth\n{tmp_path / 'south.csv'}\n\n4\n"
    shown = invoke(app, ["init", "--out", str(out)], input=said)
    assert shown.exit_code == 0, shown.output
    assert read_study(out).clustering.n_clusters == 4


@pytest.mark.parametrize(("weights", "suggested"), [((61, 95), True), ((2_950, 4_100), False)])
def test_a_draft_suggests_no_bounds_that_the_values_contradict(
    weights: tuple[int, int], suggested: bool, tmp_path: Path
) -> None:
    """A column called weight may be in grams."""
    rows = "".join(f"{value},{i}\n" for i, value in enumerate(weights))
    for client in ("north", "south"):
        (tmp_path / f"{client}.csv").write_text("weight,depth\n" + rows)
    clients = {client: tmp_path / f"{client}.csv" for client in ("north", "south")}
    notes = " ".join(draft(clients, tmp_path / "study.toml").notes)
    assert ("weight = { low = 1, high = 300 }" in notes) == suggested


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no.csv"], "client 'no': there is no file"),
        (["a.csv", "x/a.csv"], "two clients are named 'a'; give NAME=PATH"),
        (
            ["a.csv", "b.csv"],
            "the clients' files share no column; a.csv has 'x', and b.csv (separated by "
            "semicolons) has 'y', 'p', 'q', 'r', ...",
        ),
        (["a.csv", "--n-clusters", "few"], 'n_clusters must be a positive integer or "auto"'),
    ],
)
def test_files_that_cannot_be_drafted_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("y;p;q;r;s\n1;2;3;4;5\n")
    shown = invoke(app, ["init", *arguments])
    assert shown.exit_code == 1
    assert words in " ".join(shown.output.split())
    assert not (tmp_path / "study.toml").exists()


def test_a_study_needs_at_least_one_client(tmp_path: Path) -> None:
    shown = invoke(app, ["init", "--out", str(tmp_path / "s.toml")], input="\n\n")
    assert shown.exit_code == 1
    assert "needs the file of at least one client" in " ".join(shown.output.split())


def test_odd_names_are_quoted_and_files_elsewhere_are_named_in_full(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "studies").mkdir()
    file = tmp_path / "data" / "a.csv"
    file.write_text('id,"blood ""pressure"""," größe","free text"\n' + "".join(
        f"{i},{i},{i},{'word ' * (i + 1)}\n" for i in range(20)
    ))  # fmt: skip
    target = tmp_path / "studies" / "s.toml"
    target.write_text(draft({"st. mary's": file}, target, 2).text)
    study = read_study(target)
    assert study.files("st. mary's") == [file]
    assert study.data.id == "id"
    assert [column.name for column in study.features or ()] == ['blood "pressure"', " größe"]
    assert "holds text" in target.read_text()


def test_large_files_are_known_by_their_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    write(tmp_path)
    monkeypatch.setattr("fedclust.cli.tools.client_tables._SAMPLE_BYTES", 10)
    target = tmp_path / "s.toml"
    target.write_text(draft({"north": tmp_path / "north.csv"}, target).text)
    assert "age = {}" in target.read_text()
    np.savez(tmp_path / "t.npz", x=np.arange(3.0))
    assert "x = {}" in draft({"a": tmp_path / "t.npz"}, target).text


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_every_example_is_a_study(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    try:
        shown = invoke(app, ["example", name, str(folder)], catch_exceptions=False)
        if shown.exit_code:
            raise DataError(shown.output)
    except DataError as absent:
        pytest.skip(f"the data set is not here: {absent}")
    found = survey_study(read_study(folder / "study.toml"))
    assert found.passes, found.problems
    assert len(found.rows) >= 3
    assert invoke(app, ["example", name, str(folder)]).exit_code == 1


def test_an_unknown_example_is_refused(tmp_path: Path) -> None:
    shown = invoke(app, ["example", "penguin", str(tmp_path / "x")])
    assert shown.exit_code == 1
    assert "unknown example 'penguin'; choose one of penguins" in " ".join(shown.output.split())


def test_dates_indices_and_empty_columns_are_neither_ids_nor_features(tmp_path: Path) -> None:
    lines = [",when,id,age,empty,price,words", *(
        f'{i},2020-01-{i + 1:02d},{1000 + i},{40 + i},,"1,{i:03d}",a b {"c" * i}' for i in range(20)
    )]  # fmt: skip
    for name in ("a1", "a2"):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    target = tmp_path / "s.toml"
    target.write_text(draft({"all": tmp_path / "a*.csv"}, target).text)
    study = read_study(target)
    assert study.data.id == "id"
    assert [column.name for column in study.features or ()] == ["age", "price"]
    assert dict(study.clients) == {"all": "a*.csv"}
    survey = survey_study(study)
    assert survey.rows == {"all": 40}
    blocking = [(p.column, p.code) for p in survey.problems if p.blocking]
    assert blocking == [("price", "ambiguous-numbers")]


@pytest.mark.parametrize(
    ("north", "south", "clients", "data"),
    [
        ("25/04/2024", "03/04/2024", ("day-first", None), '# dates = "day-first"'),
        ("25/04/2024", "25/04/2024", None, 'dates = "day-first"'),
        ("04/25/2024", "2024-04-25", None, 'dates = "month-first"'),
        ("04/25/2024", "25/04/2024", ("month-first", "day-first"), ""),
        ("2024-04-25", "25.04.2024", None, ""),
    ],
)
def test_the_order_of_day_and_month_is_proposed_where_dates_show_it(
    tmp_path: Path, north: str, south: str, clients: tuple[str | None, ...] | None, data: str
) -> None:
    for client, day in (("north", north), ("south", south)):
        (tmp_path / f"{client}.csv").write_text("day,x\n" + f"{day},1.5\n{day},2.5\n" * 5)
    target = tmp_path / "s.toml"
    files = {client: tmp_path / f"{client}.csv" for client in ("north", "south")}
    target.write_text(draft(files, target, 2).text)
    study, text = read_study(target), target.read_text()
    assert '# day = { derive = "year" }    # dates; or month, day-of-year' in text
    assert data in text
    assert ("dates =" in text) == bool(data or clients)
    for client in files:
        assert study.file_settings(client).dates == (
            clients[list(files).index(client)] if clients else study.data.dates
        )


def test_the_first_rows_of_large_files_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("fedclust.cli.tools.client_tables._SAMPLE_BYTES", 10)
    (tmp_path / "a.csv").write_text("x,y,z\n" + "1,2020-01-01,a\n-,2020-01-02,b\n3,2020-01-03,c\n")
    found = draft({"a": tmp_path / "a.csv"}, tmp_path / "s.toml")
    assert "2 of 3 values are numbers; the other is '-' in the first rows" in found.notes[0]
    assert "x = {}\n# y = { derive" in found.text


@pytest.mark.parametrize(
    ("form", "unit"), [("{} kg", "kg"), ("{}%", "%"), ("${}", "$"), ("{} \u20ac", "\u20ac")]
)
def test_numbers_with_a_unit_are_named(tmp_path: Path, form: str, unit: str) -> None:
    for name in ("a", "b"):
        rows = [f"P{row}q,{row},{form.format(row + 0.5)}" for row in range(20)]
        (tmp_path / f"{name}.csv").write_text("code,x,y\n" + "\n".join(rows))
    clients = {name: tmp_path / f"{name}.csv" for name in ("a", "b")}
    found = draft(clients, tmp_path / "s.toml")
    words = f"a.csv, b.csv: all values are numbers with {unit!r}; remove it to cluster by this"
    assert [n for n in found.notes if "numbers with" in n] == [f"column 'y': {words} column"]
    assert f"# y: {words} column" in found.text
