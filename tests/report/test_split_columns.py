"""The page of a run over split columns omits what no party knows."""

import json
from pathlib import Path

import numpy as np
import pytest

from fedclust.core import DataError
from fedclust.report import read_run, render, write_report
from fedclust.study import read_study
from fedclust.study.run import run_study

from .browser import tab

STUDY = """
[clients]
bank = "bank.csv"
shop = "shop.csv"
[data]
split = "columns"
id = "person"
[clustering]
algorithm = "lossless"
n_clusters = 3
max_rounds = 8
fuzzy = {fuzzy}
[outputs]
labels = "none"
"""


@pytest.fixture(scope="module", params=["false", "true"])
def run_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    X = np.random.default_rng(0).normal(np.repeat([[0, 0], [5, 1], [2, 7]], 30, axis=0), 1.0)
    for owner, column in zip(("bank", "shop"), X.T, strict=True):
        lines = [f"person,{owner}_value", *(f"p{i},{v!r}" for i, v in enumerate(column.tolist()))]
        (folder / f"{owner}.csv").write_text("\n".join(lines))
    (folder / "s.toml").write_text(STUDY.format(fuzzy=request.param))
    run_study(read_study(folder / "s.toml"), folder / "run")
    return folder / "run"


def test_it_says_who_took_part_and_what_the_server_saw(run_folder: Path) -> None:
    page = " ".join((run_folder / "report.html").read_text().split())
    assert "90 records shared by 2 owners form 3 clusters" in page
    assert "Every owner took part in every round" in page
    assert "must be trusted with geometry" in page
    assert "1 of bank, 1 of shop" in page
    assert "bank_value" not in page
    for left_out in ("What makes them different", "How each column was prepared", "<h3>Profile"):
        assert left_out not in page


@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_drawn_and_quiet(run_folder: Path, width: int) -> None:
    with tab() as browser:
        browser.open(run_folder / "report.html", width=width)
        assert browser.complaints() == []
        assert browser.requests() == []
        assert browser.value("document.documentElement.scrollWidth") <= width
        ids = browser.value("[...document.querySelectorAll('.plot')].map(plot => plot.id)")
        assert ids == ["shifts"]


def test_a_damaged_folder_is_named(run_folder: Path) -> None:
    file = run_folder / "model.json"
    whole = file.read_text()
    file.write_text(json.dumps({**json.loads(whole), "owners": 3}))
    with pytest.raises(DataError, match="owners: expected an object"):
        read_run(run_folder)
    file.write_text(whole)
    assert write_report(run_folder).read_text() == render(read_run(run_folder))
