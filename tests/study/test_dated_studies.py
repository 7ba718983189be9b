"""A study whose clients record dates in their own ways: one derived number, everywhere the same."""

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from fedclust import ConfigError, DataError
from fedclust.client.consent import describe_columns
from fedclust.clustering.model import Model, load
from fedclust.clustering.preparation import Column
from fedclust.study import read_study, run_study, survey_study
from fedclust.study.label import label_files
from fedclust.study.run import Outcome

pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
STUDY = """
[clients]
north = {{ file = "north.csv", dates = "day-first" }}
south = "south.csv"
west = "west.parquet"

[clustering]
algorithm = "lossless"
n_clusters = 2

[data]
{data}

[features]
admitted = {{ derive = "{part}" }}
age = {{}}

[outputs]
labels = "csv"
"""


def days(seed: int) -> list[date]:
    rng = np.random.default_rng(seed)
    return [date(2015, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 3_000, 30)]


def write(folder: Path, part: str = "year", data: str = "") -> Path:
    for client, format in (("north", "%d/%m/%Y"), ("south", "%d.%m.%Y %H:%M")):
        lines = [f"{d.strftime(format)};{i % 7 + 0.5}" for i, d in enumerate(days(len(client)))]
        (folder / f"{client}.csv").write_text("\n".join(["admitted;age", *lines, ";3.5"]))
    table = {"admitted": pa.array(days(4)), "age": [i % 7 + 0.5 for i in range(30)]}
    parquet.write_table(pa.table(table), folder / "west.parquet")
    path = folder / "s.toml"
    path.write_text(STUDY.format(part=part, data=data))
    return path


def run(folder: Path, part: str = "year", data: str = "") -> Outcome:
    return run_study(read_study(write(folder, part, data)), folder / "run")


@pytest.mark.parametrize("batch_rows", [0, 7])
def test_dates_in_any_format_become_the_same_number(tmp_path: Path, batch_rows: int) -> None:
    done = run(tmp_path, data=f"batch_rows = {batch_rows}")
    assert done.model.columns == ["admitted", "age"]
    assert done.model.preparation.names == ["admitted (year)", "age"]
    assert (done.rows, done.used) == (92, 90)  # two dates are missing
    years = [d.year for seed in (5, 5, 4) for d in days(seed)]
    assert done.model.preparation.offset[0] == pytest.approx(np.mean(years))


@pytest.mark.parametrize("part", ["month", "days"])
def test_a_model_with_dates_is_kept_reported_and_labels_new_rows(tmp_path: Path, part: str) -> None:
    pytest.importorskip("jinja2")
    done = run(tmp_path, part)
    again = load(done.folder)
    assert again.preparation.columns == done.model.preparation.columns
    page = (done.folder / "report.html").read_text()
    assert f"admitted ({part})" in page
    assert f"Numbers were derived from dates: admitted ({part})." in page
    assert ("days since 1970-01-01" in page) == (part == "days")
    (tmp_path / "new.csv").write_text("age;admitted\n1,5;01.02.2016\n2,5;\n")
    (new,) = label_files(again, [tmp_path / "new.csv"], out=tmp_path / "labels.csv")
    assert (sum(new.labelled.sizes.values()), new.labelled.left_out) == (1, 1)
    frame = {"age": [1.5], "admitted": np.array(["2016-02-01"], dtype="M8[D]")}
    with open(tmp_path / "labels.csv") as file:
        assert again.predict(frame) == [int(next(csv.DictReader(file))["cluster"])]


def test_the_order_of_day_and_month_is_never_guessed(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text().replace(', dates = "day-first"', ""))
    blocking = [(p.client, p.code) for p in survey_study(read_study(path)).problems if p.blocking]
    assert blocking == [("north", "ambiguous-dates")]
    path.write_text(path.read_text().replace('"north.csv"', '"north.csv", dates = "month-first"'))
    (problem,) = [p for p in survey_study(read_study(path)).problems if p.blocking]
    assert (problem.client, problem.code) == ("north", "not-dates")  # there is no 25th month
    assert "of 30 values are dates" in problem.detail


def test_settings_for_new_rows_are_those_of_the_study(tmp_path: Path) -> None:
    done = run(tmp_path, data='dates = "day-first"')
    model = Model.from_config(done.model.as_config())
    assert model.reading.dates == "day-first"
    (tmp_path / "new.csv").write_text("age;admitted\n1,5;25/02/2016\n")
    (new,) = label_files(model, [tmp_path / "new.csv"], out=tmp_path / "new.parquet")
    assert sum(new.labelled.sizes.values()) == 1
    (tmp_path / "new.csv").write_text("age;admitted\n1,5;02/25/2016\n")
    with pytest.raises(DataError, match="not dates"):
        label_files(model, [tmp_path / "new.csv"], out=tmp_path / "other.parquet")


def test_a_derived_number_is_a_description_of_its_column() -> None:
    """A client limits how many descriptions of a column it answers."""
    columns = [Column("a", derive=part) for part in ("year", "month")]
    assert len(set(describe_columns(columns))) == 2
    assert describe_columns([Column("a")]) == []


def test_unknown_parts_of_a_date_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"s.toml:15: derive must be one of year, month"):
        read_study(write(tmp_path, "century"))
