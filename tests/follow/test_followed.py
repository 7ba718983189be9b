"""A followed study is the study in one process, bit for bit."""

from pathlib import Path

import numpy as np
import pytest

from fedclust.study.run import run_study

from ..support.following import Federation, tables
from ..support.in_process import results_of

pytest.importorskip("cryptography")


@pytest.mark.parametrize("one_message", [False, True])
@pytest.mark.parametrize("F", [2, 5])
@pytest.mark.parametrize(
    "clustering",
    ["", "fuzzy = true\nfuzzifier = 1.7", "n_init = 2\nmax_rounds = 10", 'init = "summary"'],
)
def test_a_followed_study_is_the_study_in_one_process(
    clustering: str, F: int, one_message: bool, tmp_path: Path
) -> None:
    there = Federation(tmp_path, tables(4, F=F), clustering=clustering, one_message=one_message)
    run_study(there.study, tmp_path / "here")
    there.run(tmp_path / "there")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")


@pytest.mark.parametrize("clustering", ["", "fuzzy = true\nfuzzifier = 1.7"])
def test_rows_with_missing_cells_can_be_followed(clustering: str, tmp_path: Path) -> None:
    """One client has no value in a column, and another does not have the column."""
    rows = tables(4, F=5)
    rng = np.random.default_rng(0)
    for table in rows.values():
        table[rng.random(table.shape) < 0.2] = np.nan
        table[:, 0] = np.nan_to_num(table[:, 0], nan=0.5)
    rows["c01"][:, 3] = np.nan
    there = Federation(tmp_path, rows, clustering=clustering)
    text = there.path.read_text().replace("[data]\n", '[data]\nmissing = "partial"\n')
    there.path.write_text(text)
    file = tmp_path / "c02" / "people.csv"
    lines = [line.rpartition(",")[0] for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")
    there.sites = there.open_sites()
    run_study(there.study, tmp_path / "here")
    there.run(tmp_path / "there")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")


@pytest.mark.parametrize("bounds", ["", 'bounds = "estimate"'])
@pytest.mark.parametrize("clustering", ["", "fuzzy = true"])
def test_a_number_that_is_chosen_pooled_scales_and_means_can_be_followed(
    clustering: str, bounds: str, tmp_path: Path
) -> None:
    rows = tables(4, F=3)
    rng = np.random.default_rng(0)
    for table in rows.values():
        table[rng.random(table.shape) < 0.05] = np.nan
    there = Federation(tmp_path, rows, clustering=clustering)
    text = there.path.read_text().replace("n_clusters = 3", 'n_clusters = "auto"')
    text = text.replace("[data]\n", f'[data]\nscaling = "standard"\nmissing = "mean"\n{bounds}\n')
    if bounds:
        text = text.replace("low = 0, high = 1", "")
    there.path.write_text(text)
    here = run_study(there.study, tmp_path / "here")
    there.run(tmp_path / "there")
    assert results_of(tmp_path / "there") == results_of(tmp_path / "here")
    assert here.choice is not None
    assert here.choice.summary is not None
    first = {name: count_queries(tmp_path / name) for name in rows}
    assert max(first.values()) <= 50
    there.sites = there.open_sites()
    there.run(tmp_path / "again")
    for name, n in first.items():  # the same queries again are free; labels are of another run
        assert count_queries(tmp_path / name) <= n + 1


def count_queries(kit: Path) -> int:
    """Queries in the ledger of a kit."""
    lines = (kit / "ledger.jsonl").read_text().splitlines()
    return sum('"event": "query"' in line for line in lines)
