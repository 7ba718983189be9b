"""Studies over split columns in one process: the estimators' result, files at each owner."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import VerticalFuzzyCMeans, VerticalKMeans
from fedclust.cli import app
from fedclust.study import read_study
from fedclust.study.run import run_study
from fedclust.tiers.columns import TRUST

from .owners_example import frames, write


def written(folder: Path) -> Path:
    """The only folder of labels: that of an earlier run is removed with the run."""
    (found,) = (folder / "fedclust-labels").glob("run-*")
    return found


def labels_of(folder: Path, owner: str) -> dict[str, list[str]]:
    with open(written(folder) / f"{owner}.csv", newline="") as file:
        rows = list(csv.reader(file))
    return {name: [row[c] for row in rows[1:]] for c, name in enumerate(rows[0])}


class Always(np.random.RandomState):
    """Gives the estimators the seed of the study."""

    def randint(self, *given: Any, **settings: Any) -> Any:
        return 7


@pytest.mark.parametrize("fuzzy", [False, True])
def test_a_study_finds_what_the_estimator_finds(fuzzy: bool, tmp_path: Path) -> None:
    path = write(tmp_path, data='scaling = "none"', clustering="fuzzy = true" if fuzzy else "")
    done = run_study(read_study(path), tmp_path / "run")
    kind = VerticalFuzzyCMeans if fuzzy else VerticalKMeans
    model = kind(3, random_state=Always()).fit_frames(frames(), "person")
    assert done.model.ids == (0, 1, 2)
    assert done.model.sizes == tuple(np.bincount(model.labels_, minlength=3).tolist())
    assert done.model.about.inertia == pytest.approx(model.inertia_)
    for owner, frame in frames().items():
        found = labels_of(tmp_path, owner)
        assert found["person"] == list(frame["person"])
        expected = model.labels_of(owner).tolist()
        assert found["cluster"] == ["" if c < 0 else str(c) for c in expected]
        record = json.loads((written(tmp_path) / f"{owner}.centers.json").read_text())
        assert [cluster["id"] for cluster in record["clusters"]] == [0, 1, 2]
        centers = [cluster["center_in_units"] for cluster in record["clusters"]]
        np.testing.assert_allclose(centers, model.centers_of(owner), rtol=1e-5)
        assert record["columns"] == [name for name in frame if name != "person"]
        if fuzzy:
            assert isinstance(model, VerticalFuzzyCMeans)
            U = model.memberships_of(owner)
            shown = np.array([found[f"membership_{c}"] for c in (0, 1, 2)]).T
            np.testing.assert_allclose(
                np.where(shown == "", "nan", shown).astype(float), U, atol=1e-5
            )


def test_an_owners_own_scale_is_the_pooled_one(tmp_path: Path) -> None:
    """Standardised by hand, over the shared records only, and clustered as they are."""
    run_study(read_study(write(tmp_path)), tmp_path / "run")
    ours = {owner: labels_of(tmp_path, owner)["cluster"] for owner in frames()}
    tables = frames()
    both = set(tables["bank"]["person"]) & set(tables["shop"]["person"])
    for table in tables.values():
        here = [person in both for person in table["person"]]
        for name, values in table.items():
            if name != "person":
                table[name] = (values - values[here].mean()) / values[here].std()
    again = tmp_path / "by-hand"
    again.mkdir()
    run_study(read_study(write(again, tables, 'scaling = "none"')), again / "run")
    assert {owner: labels_of(again, owner)["cluster"] for owner in tables} == ours


def test_rows_with_missing_values_are_left_out_or_filled(tmp_path: Path) -> None:
    tables = frames()
    shared = set(tables["bank"]["person"]) & set(tables["shop"]["person"])
    row = next(r for r, person in enumerate(tables["bank"]["person"]) if person in shared)
    tables["bank"]["debt"] = [*map(float, tables["bank"]["debt"])]
    tables["bank"]["debt"][row] = "NA"
    dropped = run_study(read_study(write(tmp_path, tables)), tmp_path / "run")
    assert dropped.used == len(shared) - 1
    assert labels_of(tmp_path, "bank")["cluster"][row] == ""
    path = write(tmp_path, tables, 'missing = "mean"')
    filled = run_study(read_study(path), tmp_path / "run", force=True)
    assert filled.used == len(shared)
    assert labels_of(tmp_path, "bank")["cluster"][row] != ""


def test_categories_logarithms_and_bounds_are_prepared_by_their_owner(tmp_path: Path) -> None:
    tables = frames()
    tables["bank"]["sex"] = ["f" if i % 3 else "m" for i in range(80)]
    tables["shop"]["spent"] = np.abs(tables["shop"]["spent"]) + 1
    more = (
        "[features]\nincome = { low = -30, high = 30 }\nsex = { categories = ['f', 'm'] }\n"
        "spent = { low = 0.5, high = 1000, log = true, unit = 'EUR' }\n"
    )
    path = write(tmp_path, tables, 'scaling = "min-max"', more=more)
    done = run_study(read_study(path), tmp_path / "run")
    assert done.model.owners == {"bank": 3, "shop": 1}
    record = json.loads((written(tmp_path) / "shop.centers.json").read_text())
    centers = [cluster["center_in_units"][0] for cluster in record["clusters"]]
    spent = np.array(tables["shop"]["spent"])
    assert spent.min() < min(centers)
    assert max(centers) < spent.max()
    shared = np.isin(tables["shop"]["person"], tables["bank"]["person"])
    scale, width = record["preparation"]["scale"][0], np.ptp(np.log(spent[shared]))
    assert width <= scale <= 1.2 * width  # its own range, not that of the study


def test_the_files_of_a_run(tmp_path: Path) -> None:
    done = run_study(read_study(write(tmp_path)), tmp_path / "run")
    model = json.loads((tmp_path / "run" / "model.json").read_text())
    profile = json.loads((tmp_path / "run" / "profile.json").read_text())
    assert model["split"] == "columns"
    assert model["owners"] == {"bank": 2, "shop": 1}
    assert sum(cluster["size"] for cluster in model["clusters"]) == model["n_records"]
    assert TRUST in model["privacy"]["guarantee"]
    assert "income" not in json.dumps([model, profile])
    assert [phase["name"] for phase in profile["phases"]] == [
        "aligning records", "start", "clustering",
    ]  # fmt: skip
    rounds = [client["rounds"] for client in profile["clients"]]
    assert rounds == [model["rounds"]] * 2
    assert (model["ended_by_tier"], model["caveat"]) == (False, "")
    assert (profile["coverage"], profile["withheld"]) == ("all", None)
    assert [line["better"] for line in profile["quality"]] == ["lower"]
    assert len((tmp_path / "run" / "history.jsonl").read_text().splitlines()) == model["rounds"]
    assert (tmp_path / "run" / "study.toml").read_text() == (tmp_path / "s.toml").read_text()
    assert done.folder == tmp_path / "run"


def test_the_commands_check_run_and_refuse(tmp_path: Path) -> None:
    path = write(tmp_path)
    check = CliRunner().invoke(app, ["check", str(path)])
    assert check.exit_code == 0, check.output
    assert "income, debt, spent" in check.output
    run = ["run", str(path), "--out", str(tmp_path / "run")]
    shown = CliRunner().invoke(app, run)
    assert shown.exit_code == 0, shown.output
    shown_words = " ".join(shown.output.split())
    assert "must be trusted with geometry" in shown_words
    assert "of the 80 rows of bank are records that all clients have" in shown.output
    record = CliRunner().invoke(app, [*run, "--force", "--json"])
    assert json.loads(record.output)["rows_used"] == sum(
        c["size"] for c in json.loads(record.output)["clusters"]
    )
    like = CliRunner().invoke(app, [*run, "--force", "--match-run", str(tmp_path / "run")])
    assert like.exit_code == 1
    label = CliRunner().invoke(app, ["label", str(tmp_path / "run"), str(tmp_path / "bank.csv")])
    assert label.exit_code == 1
    assert "no party has all centres" in " ".join(label.output.split())


def test_without_labels_owners_still_get_their_part_of_the_centres(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text().replace('labels = "csv"', 'labels = "none"'))
    run_study(read_study(path), tmp_path / "run")
    left = sorted(file.name for file in written(tmp_path).iterdir())
    assert left == ["bank.centers.json", "shop.centers.json"]


def test_a_run_that_did_not_converge_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path, clustering="fuzzy = true\nmax_rounds = 1")
    shown = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "run")])
    assert "before it converged; increase max_rounds or tol" in " ".join(shown.output.split())
