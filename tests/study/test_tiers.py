"""Studies under every tier: results, reports and refusals."""

import html
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import ConfigError
from fedclust.cli import app
from fedclust.study import read_study
from fedclust.study.run import run_study
from fedclust.tiers import TIERS

from .example import write

STUDY = """
[clients]
north = "north.csv"
south = "south.csv"
west = "west.csv"

[clustering]
algorithm = "lossless"
n_clusters = 2

[features]
age = { low = 0, high = 120 }
weight = { low = 20, high = 180 }

[privacy]
tier = "none"
"""


def three(folder: Path, study: str = STUDY) -> Path:
    path = write(folder, study, rows=80)
    (folder / "west.csv").write_text((folder / "north.csv").read_text().replace("north", "west"))
    return path


@pytest.mark.parametrize("tier", list(TIERS))
def test_every_tier_can_be_studied(tmp_path: Path, tier: str) -> None:
    for library in {"secure": ["cryptography"], "dp": ["opendp"]}.get(tier, []):
        pytest.importorskip(library)
    path = three(tmp_path, STUDY.replace('"none"', f'"{tier}"'))
    shown = CliRunner().invoke(app, ["run", str(path)])
    assert shown.exit_code == 0, shown.output
    record = json.loads((tmp_path / "study-run" / "model.json").read_text())["privacy"]
    assert record["tier"] == tier
    assert (record["guarantee"][:40] in " ".join(shown.output.split())) == (tier != "none")
    report = (tmp_path / "study-run" / "report.html").read_text()
    assert record["guarantee"][:40] in report


SCALE = "columns are scaled by their bounds instead of by mean and standard deviation"
START = "the initial centres come from the seeding 'cells'"


@pytest.mark.parametrize(
    ("tier", "data", "init", "effect"),
    [
        ("none", "", "auto", ""),
        ("paper", "", "auto", ""),
        ("guarded", "", "auto", ""),
        ("secure", "", "auto", f"{SCALE} and {START}"),
        ("dp", "", "auto", f"{SCALE} and {START}"),
        ("secure", '[data]\nscaling = "min-max"', "k-means++", START),
        ("secure", "", "uniform", SCALE),
        ("secure", '[data]\nscaling = "min-max"', "uniform", ""),
    ],
)
def test_a_run_says_how_its_tier_changes_scale_and_start(
    tmp_path: Path, tier: str, data: str, init: str, effect: str
) -> None:
    pytest.importorskip("cryptography")
    pytest.importorskip("opendp")
    text = STUDY.replace('"none"', f'"{tier}"').replace("[features]", f"{data}\n[features]")
    path = three(tmp_path, text.replace("n_clusters = 2", f'n_clusters = 2\ninit = "{init}"'))
    shown = CliRunner().invoke(app, ["run", str(path)])
    assert shown.exit_code == 0, shown.output
    page = html.unescape((tmp_path / "study-run" / "report.html").read_text())
    header = page.partition("</header>")[0]  # which is always open
    expected = f"With tier '{tier}', {effect}, so clusters may differ from those of tier 'none'."
    for said in (" ".join(shown.output.split()), header):
        assert ("may differ from those of tier" in said) == bool(effect)
        assert not effect or expected in said


def test_masks_change_nothing_in_the_result(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    same = STUDY.replace("[features]", '[data]\nscaling = "min-max"\n[features]')
    same = same.replace("n_clusters = 2", 'n_clusters = 2\ninit = "uniform"')
    plain = run_study(read_study(three(tmp_path, same)), tmp_path / "plain")
    path = three(tmp_path, same.replace('"none"', '"secure"'))
    masked = run_study(read_study(path), tmp_path / "masked")
    assert np.allclose(masked.clustering.centers, plain.clustering.centers, atol=1e-8)
    n_largest = max(size or 0 for size in plain.model.sizes)
    assert np.abs(masked.model.centers - plain.model.centers).max() <= 5 / n_largest
    assert masked.model.sizes == plain.model.sizes
    assert masked.model.about is not None
    assert masked.model.about.lossless is True
    record = json.loads((tmp_path / "masked" / "profile.json").read_text())
    assert record["clusters"][0]["by_client"] == {}  # clients cannot be distinguished
    assert record["map"]["grid"]["counts"] == []
    assert (record["coverage"], record["withheld"]) == ("all", None)


def test_noise_is_not_paid_for_twice(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    path = three(tmp_path, STUDY.replace('"none"', '"dp"\nepsilon = 4.0'))
    done = run_study(read_study(path), tmp_path / "run")
    assert done.model.sizes == (None, None)
    record = json.loads((tmp_path / "run" / "model.json").read_text())
    assert record["privacy"]["parameters"]["epsilon"] == 4.0
    assert record["inertia"] is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("age = { low = 0, high = 120 }", "age = {}"), "needs public bounds; give every feature"),
        (("lossless", "fkm"), "messages of 'fkm' stack"),
        (("[features]", "[data]\nscaling = 'none'\n[features]"), "needs columns on one scale"),
        (
            ("[features]", '[data]\nmissing = "median-of-means"\n[features]'),
            '"median-of-means" is not available',
        ),
        (('"none"', '"secure"\nepsilon = 1'), "tier = 'secure' has no parameter epsilon"),
        (('"none"', '"dp"\n[clustering2]'), "there is no table"),
        (("n_clusters = 2", 'n_clusters = 2\ninit = "careful"'), "messages of 'careful' stack"),
        (("n_clusters = 2", 'n_clusters = 2\ninit = "client"'), "messages of 'client' stack"),
        (("[features]", "[sampling]\nfraction = 0.9\n[features]"), "set fraction = 1"),
        (('west = "west.csv"\n', ""), "needs 3 clients or more, but there are 2"),
        (("n_clusters = 2", "n_clusters = 2\nn_init = 2"), "allows 50 queries, but 2 restarts of"),
        (
            ("n_clusters = 2", "n_clusters = 2\nn_init = 5\nmax_rounds = 8"),
            "5 restarts of up to 8 rounds can need 58",
        ),
        (
            ("n_clusters = 2", "n_clusters = 2\nmax_rounds = 41"),
            "40 rounds; give 40 or fewer",
        ),
    ],
)
def test_what_a_tier_cannot_protect_is_refused_with_its_line(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    text = STUDY.replace(*change).replace('"none"', '"secure"')
    with pytest.raises(ConfigError, match=rf"study.toml:\d+: .*{words}"):
        read_study(write(tmp_path, text))


@pytest.mark.parametrize("tier", ["dp", "secure+dp"])
def test_noise_has_as_many_rounds_as_the_study_says(tmp_path: Path, tier: str) -> None:
    pytest.importorskip("opendp")
    text = STUDY.replace('"none"', f'"{tier}"')
    for line, rounds in (("", 3), ("max_rounds = 5", 5)):
        path = three(tmp_path, text.replace("n_clusters = 2", f"n_clusters = 2\n{line}"))
        done = run_study(read_study(path), tmp_path / f"run{rounds}")
        record = json.loads((done.folder / "model.json").read_text())
        assert record["rounds"] == rounds
        assert record["privacy"]["parameters"]["rounds"] == rounds
        assert record["ended_by_tier"] == (rounds == 3)
    path = three(tmp_path, text.replace("n_clusters = 2", "n_clusters = 2\ntol = 0.1"))
    with pytest.raises(ConfigError, match=r"study.toml:\d+: tol=0.1: .* give max_rounds, not tol"):
        read_study(path)


def test_a_run_that_the_tier_ended_is_reported(tmp_path: Path) -> None:
    text = STUDY.replace('"none"', '"guarded"').replace("n_clusters = 2", "n_clusters = 2\ntol = 0")
    path = three(tmp_path, text.replace("n_clusters = 2", "n_clusters = 2\nfuzzy = true"))
    shown = CliRunner().invoke(app, ["run", str(path)])
    words = "The run stopped after 40 rounds, the limit of the tier 'guarded'"
    assert words in " ".join(shown.output.split())
    assert "raise max_rounds" not in shown.output
    report = (tmp_path / "study-run" / "report.html").read_text()
    assert words in report.replace("&#39;", "'")


def test_n_init_must_be_1_with_noise(tmp_path: Path) -> None:
    text = STUDY.replace('"none"', '"dp"').replace("n_clusters = 2", "n_clusters = 2\nn_init = 3")
    with pytest.raises(ConfigError, match="n_init must be 1 with tier = 'dp'"):
        read_study(write(tmp_path, text))


def test_a_small_client_does_not_stop_a_guarded_study(tmp_path: Path) -> None:
    path = three(tmp_path, STUDY.replace('"none"', '"guarded"'))
    file = tmp_path / "south.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:8]) + "\n")
    done = run_study(read_study(path), tmp_path / "out")
    record = json.loads((done.folder / "profile.json").read_text())
    assert {c["name"] for c in record["clients"]} >= {"south"}
    assert (record["coverage"], record["withheld"]) == ("released", None)
    assert all(cluster["by_client"] == {} for cluster in record["clusters"])
    described = sum(cluster["size"] or 0 for cluster in record["clusters"])
    assert described < sum(client["used"] for client in record["clients"])
    report = (done.folder / "report.html").read_text().replace("&#39;", "'")
    assert "statistics of clusters are incomplete: with the tier 'guarded'" in report


@pytest.mark.parametrize("tier", ["secure", "dp", "secure+dp"])
def test_row_counts_are_hidden_where_sums_are_masked(tmp_path: Path, tier: str) -> None:
    for library in ("cryptography", "opendp"):
        pytest.importorskip(library)
    path = three(tmp_path, STUDY.replace('"none"', f'"{tier}"'))
    north = (tmp_path / "north.csv").read_text().splitlines()
    (tmp_path / "north.csv").write_text("\n".join(north[:78]) + "\n")  # 77 rows
    done = run_study(read_study(path), tmp_path / "out")
    assert done.rows is done.used is None
    record = json.loads((done.folder / "profile.json").read_text())
    assert [(c["rows"], c["used"], c["left_out"]) for c in record["clients"]] == [(None,) * 3] * 3
    assert record["withheld"] is None
    assert record["coverage"] == ("all" if tier == "secure" else "none")
    report = (done.folder / "report.html").read_text()
    assert "The privacy tier hides how many rows each client has" in report
    assert "rows used" not in report


def test_clusters_made_of_noise_cause_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few rows and much noise there are results, but with a warning."""
    pytest.importorskip("opendp")
    drawn = "fedclust.privacy.noise.gaussian"
    monkeypatch.setattr(drawn, lambda scale, n: np.zeros(n, dtype=np.int64))
    path = three(tmp_path, STUDY.replace('"none"', '"dp"\nepsilon = 0.1'))
    shown = CliRunner().invoke(app, ["run", str(path)])
    assert "Warning: all clusters have too few rows for the noise" in " ".join(shown.output.split())
    report = (tmp_path / "study-run" / "report.html").read_text()
    assert "Warning: all clusters have too few rows" in report
    path.write_text(STUDY.replace('"none"', '"dp"\nepsilon = 100.0'))
    loud = CliRunner().invoke(app, ["run", str(path), "--force"])
    assert loud.exit_code == 0
    assert "noise hides them" not in " ".join(loud.output.split())


@pytest.mark.parametrize(
    ("tier", "init"),
    [("none", "cells"), ("secure", "cells"), ("secure", "uniform"), ("guarded", "careful")],
)
def test_initializations_that_a_tier_protects_are_run(tmp_path: Path, tier: str, init: str) -> None:
    pytest.importorskip("cryptography")
    settings = f'n_clusters = 2\ninit = "{init}"\nn_init = 4\nmax_rounds = 8'
    text = STUDY.replace('"none"', f'"{tier}"').replace("n_clusters = 2", settings)
    done = run_study(read_study(three(tmp_path, text)), tmp_path / "run")
    assert done.model.about is not None
    assert done.model.about.settings["init"] == init


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("age = { low = 0, high = 120 }", "age = {}"), 'init = "cells" draws within public'),
        (("lossless", "k-fed"), 'k-fed has no initialisation; use init = "auto"'),
    ],
)
def test_impossible_initializations_are_refused(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    text = STUDY.replace("n_clusters = 2", 'n_clusters = 2\ninit = "cells"').replace(*change)
    with pytest.raises(ConfigError, match=rf"study.toml:\d+: {words}"):
        read_study(write(tmp_path, text))


@pytest.mark.parametrize("tier", ["dp", "secure+dp"])
def test_min_count_is_refused_with_noise(tmp_path: Path, tier: str) -> None:
    text = STUDY.replace('"none"', f'"{tier}"\nmin_count = 5')
    words = f"min_count has no meaning for tier = '{tier}'".replace("+", r"\+")
    with pytest.raises(ConfigError, match=rf"study.toml:17: {words}"):
        read_study(write(tmp_path, text))


WIDE = "[features]\n" + "".join(f"x{i} = {{ low = -9, high = 9 }}\n" for i in range(5))


@pytest.mark.parametrize(
    ("settings", "tier", "wanted"),
    [
        ('"fkm"', "none", {"start": 1, "clustering": None, "scoring": 3}),
        ('"k-fed"', "none", {"scaling columns": 2, "clustering": 1, "scoring": 3}),
        (
            '"lossless"\ninit = "k-fed"',
            "none",
            {"scaling columns": 2, "start": 1, "clustering": None},
        ),
        ('"lossless"', "secure", {"start": 3, "clustering": None, "scoring": 2}),
    ],
)
def test_phases_are_named_by_their_purpose(
    tmp_path: Path, settings: str, tier: str, wanted: dict[str, int | None]
) -> None:
    """Not by the algorithm: k-fed can be an initialisation or the clustering itself."""
    pytest.importorskip("cryptography")
    text = STUDY.replace('"lossless"', settings).replace('"none"', f'"{tier}"')
    head, tail = text.split("[features]")
    path = write(tmp_path, head + WIDE + "[privacy]" + tail.split("[privacy]")[1])
    for i, client in enumerate(("north", "south", "west")):
        rows = np.random.default_rng(i).normal(size=(60, 5)) + 4 * (np.arange(60) % 2)[:, None] - 2
        lines = [",".join(f"{v:.3f}" for v in row) for row in rows]
        names = ",".join(f"x{j}" for j in range(5))
        (tmp_path / f"{client}.csv").write_text("\n".join([names, *lines]))
    done = run_study(read_study(path), tmp_path / "run")
    record = json.loads((done.folder / "profile.json").read_text())["phases"]
    found = {phase["name"]: phase["rounds"] for phase in record}
    wanted = {name: n or done.clustering.run.n_rounds for name, n in wanted.items()}
    assert {name: found.get(name) for name in wanted} == wanted
    assert ("start" in found) == ("start" in wanted)
