"""Results of a study, and the files that it writes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust.cli import app
from fedclust.cli.run import explain_end
from fedclust.study import read_study
from fedclust.study.run import run_study

from .example import SMALLEST, read, write

AUTO = SMALLEST.replace("n_clusters = 2", 'n_clusters = "auto"\nk_range = [2, 6]')


def test_the_data_choose_the_number_of_clusters(tmp_path: Path) -> None:
    done = run_study(read_study(write(tmp_path, AUTO + "[features]\nage = {}\n")), tmp_path / "run")
    assert done.choice is not None
    assert done.choice.recommended == len(done.model.ids) == 2
    record = json.loads((tmp_path / "run" / "choice.json").read_text())
    assert [score["n_clusters"] for score in record["scores"]] == [2, 3, 4, 5, 6]
    phases = json.loads((tmp_path / "run" / "profile.json").read_text())["phases"]
    assert "choosing k" in [phase["name"] for phase in phases]
    path = str(tmp_path / "study.toml")
    shown = CliRunner().invoke(app, ["run", path, "--out", str(tmp_path / "other"), "--json"])
    assert json.loads(shown.stdout)["n_clusters_because"] == done.choice.why
    shown = CliRunner().invoke(app, ["run", path])
    assert done.choice.why[1:30] in " ".join(shown.output.split())


def test_few_rows_limit_the_number_of_clusters(tmp_path: Path) -> None:
    path = write(tmp_path, AUTO.replace("[2, 6]", "[2, 15]"), rows=12)
    done = run_study(read_study(path), tmp_path / "run")
    assert done.choice is not None
    assert [score.n_clusters for score in done.choice.scores] == [2, 3]


def test_with_client_sampling_a_larger_tolerance_is_advised(tmp_path: Path) -> None:
    done = run_study(read_study(write(tmp_path)), tmp_path / "run")
    about = replace(done.model.about, converged=False, rounds=3)
    ended = replace(done, model=replace(done.model, about=about))
    assert "increase max_rounds or tol" in " ".join(explain_end(ended, 1.0))
    assert "centres keep moving, so increase tol" in " ".join(explain_end(ended, 0.5))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("fuzzy", [False, True])
def test_batches_give_the_clusters_of_complete_files(
    tmp_path: Path, kind: str, fuzzy: bool
) -> None:
    pq, csv = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.csv")
    features = '[features]\nage = {}\nweight = { log = true }\nsex = { categories = ["f", "m"] }\n'
    study = SMALLEST.replace('"lossless"', f'"lossless"\nfuzzy = {str(fuzzy).lower()}') + features
    for missing in ("drop", "mean"):
        data = f'[data]\nid = "patient"\nmissing = "{missing}"\n'
        whole = run_study(read_study(write(tmp_path, study + data)), tmp_path / f"whole-{missing}")
        for client in ("north", "south"):
            table = csv.read_csv(
                tmp_path / f"{client}.csv",
                convert_options=csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True),
            )
            if kind == "parquet":
                pq.write_table(table, tmp_path / f"{client}.parquet")
        (tmp_path / "study.toml").write_text(
            study.replace(".csv", f".{kind}") + data + "batch_rows = 7\n"
        )
        found = run_study(read_study(tmp_path / "study.toml"), tmp_path / f"batches-{missing}")
        assert found.model.ids == whole.model.ids
        assert found.model.sizes == whole.model.sizes
        assert np.allclose(found.model.centers, whole.model.centers, atol=1e-6)
        for client in ("north", "south"):
            assert read(found, client)["cluster"] == read(whole, client)["cluster"]
            assert read(found, client)["patient"] == read(whole, client)["patient"]


def test_k_is_chosen_over_batches_too(tmp_path: Path) -> None:
    study = AUTO + "[features]\nage = {}\n[data]\nbatch_rows = 9\n"
    done = run_study(read_study(write(tmp_path, study)), tmp_path / "run")
    assert done.choice is not None
    assert done.choice.recommended == 2


@pytest.mark.parametrize("algorithm", ["fkm", "one-shot", "ffcm-avg2"])
def test_lossy_algorithms_are_shown_beside_the_pooled_result(
    tmp_path: Path, algorithm: str
) -> None:
    path = write(tmp_path, SMALLEST.replace("lossless", algorithm))
    done = run_study(read_study(path), tmp_path / "run")
    record = json.loads((tmp_path / "run" / "profile.json").read_text())["quality"]
    assert record[0]["index"] == "simplified-silhouette"
    assert all(line["pooled"] is not None for line in record)
    assert done.model.about is not None
    assert done.model.about.lossless is False


def test_one_column_has_no_map_and_one_cluster_no_quality(tmp_path: Path) -> None:
    study = SMALLEST.replace("n_clusters = 2", "n_clusters = 1") + "[features]\nage = {}\n"
    run_study(read_study(write(tmp_path, study)), tmp_path / "run")
    record = json.loads((tmp_path / "run" / "profile.json").read_text())
    assert record["map"] is None
    assert record["quality"] == []
    assert record["clusters"][0]["by_client"] == {"north": 39, "south": 39}


def test_uniform_initialization_uses_public_bounds(tmp_path: Path) -> None:
    study = SMALLEST.replace("n_clusters = 2", 'n_clusters = 2\ninit = "uniform"')
    features = (
        "[features.age]\nlow = 20\nhigh = 90\n[features.weight]\nlow = 30\nhigh = 150\nlog = true\n"
    )
    done = run_study(read_study(write(tmp_path, study + features)), tmp_path / "run")
    assert len(done.model.ids) == 2


def test_profiles_match_the_rows(tmp_path: Path) -> None:
    done = run_study(
        read_study(write(tmp_path, SMALLEST + '[outputs]\nlabels = "csv"\n')), tmp_path / "run"
    )
    record = json.loads((tmp_path / "run" / "profile.json").read_text())
    rows: dict[str, list[list[float]]] = {"0": [], "1": []}
    for client in ("north", "south"):
        labels = Path(done.labels[client]).read_text().splitlines()[1:]
        lines = (tmp_path / f"{client}.csv").read_text().splitlines()[1:]
        for label, line in zip(labels, lines, strict=True):
            if label.split(",")[1]:
                rows[label.split(",")[1]].append([float(v) for v in line.split(",")[1:3]])
    for cluster in record["clusters"]:
        own = np.array(rows[str(cluster["id"])])
        assert cluster["size"] == len(own)
        kept = [feature["mean"] for feature in cluster["features"]]
        assert np.allclose(kept, own.mean(axis=0), atol=0.3)  # less rows of clients with few
    everybody = np.array(rows["0"] + rows["1"])
    overall = record["clusters"][0]["features"][0]
    assert overall["overall_sd"] == pytest.approx(everybody[:, 0].std(), rel=0.02)


def test_bytes_include_all_runs_and_labels_are_in_the_folder(tmp_path: Path) -> None:
    study = SMALLEST + '[outputs]\nlabels = "csv"\nlabels_in = "run"\n'
    done = run_study(read_study(write(tmp_path, study)), tmp_path / "run")
    record = json.loads((tmp_path / "run" / "profile.json").read_text())
    sent = json.loads((tmp_path / "run" / "model.json").read_text())["bytes_sent"]
    for client in ("north", "south"):
        assert sent[client] == sum(phase["bytes_up"][client] for phase in record["phases"])
        assert sent[client] > done.clustering.sent[client]
        assert Path(done.labels[client]).is_file()
