"""A study under every tier: what is found, what is said of it, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import ConfigError
from fedclust.cli import app
from fedclust.privacy.rules import TIERS
from fedclust.study import read_study
from fedclust.study.run import run_study

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
    told = json.loads((tmp_path / "study-run" / "model.json").read_text())["privacy"]
    assert told["tier"] == tier
    assert (told["promise"][:40] in " ".join(shown.output.split())) == (tier != "none")
    report = (tmp_path / "study-run" / "report.html").read_text()
    assert told["promise"][:40] in report


def test_masks_change_nothing_in_the_result(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    same = STUDY.replace("[features]", '[data]\nscaling = "min-max"\n[features]')
    same = same.replace("n_clusters = 2", 'n_clusters = 2\ninit = "uniform"')
    plain = run_study(read_study(three(tmp_path, same)), tmp_path / "plain")
    path = three(tmp_path, same.replace('"none"', '"secure"'))
    masked = run_study(read_study(path), tmp_path / "masked")
    assert np.allclose(masked.model.centers, plain.model.centers, atol=1e-8)
    assert masked.model.sizes == plain.model.sizes
    assert masked.model.about is not None
    assert masked.model.about["lossless"] is True
    told = json.loads((tmp_path / "masked" / "profile.json").read_text())
    assert told["clusters"][0]["by_client"] == {}  # nobody is told apart
    assert told["map"]["grid"]["clients"] == {}


def test_noise_is_not_paid_for_twice(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    path = three(tmp_path, STUDY.replace('"none"', '"dp"\nepsilon = 4.0'))
    done = run_study(read_study(path), tmp_path / "run")
    assert done.model.sizes == (None, None)
    told = json.loads((tmp_path / "run" / "model.json").read_text())
    assert told["privacy"]["parameters"]["epsilon"] == 4.0
    assert told["inertia"] is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("age = { low = 0, high = 120 }", "age = {}"), "needs public bounds: give every feature"),
        (("n_clusters = 2", 'n_clusters = "auto"'), "answers too few questions for a sweep"),
        (("lossless", "fkm"), "messages of 'fkm' stack"),
        (("[features]", '[data]\nscaling = "standard"\n[features]'), "by public bounds only"),
        (("[features]", '[data]\nmissing = "mean"\n[features]'), "knows no means to fill gaps"),
        (('"none"', '"secure"\nepsilon = 1'), "epsilon has no meaning for tier = 'secure'"),
        (('"none"', '"dp"\n[clustering2]'), "there is no table"),
    ],
)
def test_what_a_tier_cannot_protect_is_refused_with_its_line(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    text = STUDY.replace(*change).replace('"none"', '"secure"')
    with pytest.raises(ConfigError, match=rf"study.toml:\d+: .*{words}"):
        read_study(write(tmp_path, text))


def test_noisy_starts_are_one(tmp_path: Path) -> None:
    text = STUDY.replace('"none"', '"dp"').replace("n_clusters = 2", "n_clusters = 2\nn_init = 3")
    with pytest.raises(ConfigError, match="pays for every start: n_init must be 1"):
        read_study(write(tmp_path, text))


def test_a_client_too_small_to_speak_does_not_stop_a_guarded_study(tmp_path: Path) -> None:
    path = three(tmp_path, STUDY.replace('"none"', '"guarded"'))
    file = tmp_path / "south.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:8]) + "\n")
    done = run_study(read_study(path), tmp_path / "out")
    told = json.loads((done.folder / "profile.json").read_text())
    assert {c["name"] for c in told["clients"]} >= {"south"}
    for cluster in told["clusters"]:
        assert cluster["by_client"].get("south") is None
    assert done.used is not None
    assert told["uncounted"] == done.used - sum(n or 0 for n in done.model.sizes) >= 7


@pytest.mark.parametrize("tier", ["secure", "dp", "secure+dp"])
def test_where_sums_are_hidden_nobodys_row_count_is_told(tmp_path: Path, tier: str) -> None:
    for library in ("cryptography", "opendp"):
        pytest.importorskip(library)
    path = three(tmp_path, STUDY.replace('"none"', f'"{tier}"'))
    north = (tmp_path / "north.csv").read_text().splitlines()
    (tmp_path / "north.csv").write_text("\n".join(north[:78]) + "\n")  # 77 rows
    done = run_study(read_study(path), tmp_path / "out")
    assert done.rows is done.used is None
    told = json.loads((done.folder / "profile.json").read_text())
    assert [(c["rows"], c["used"], c["left_out"]) for c in told["clients"]] == [(None,) * 3] * 3
    assert told["uncounted"] is None
    report = (done.folder / "report.html").read_text()
    assert "How many rows a client has is not told" in report
    assert "rows used" not in report


def test_clusters_made_of_noise_are_called_so(tmp_path: Path) -> None:
    """A few rows under much noise: the numbers come out, and with them a warning."""
    pytest.importorskip("opendp")
    path = three(tmp_path, STUDY.replace('"none"', '"dp"\nepsilon = 0.1'))
    shown = CliRunner().invoke(app, ["run", str(path)])
    assert "Beware: all clusters have so few rows that noise hides them" in " ".join(
        shown.output.split()
    )
    report = (tmp_path / "study-run" / "report.html").read_text()
    assert "Beware: all clusters have so few rows" in report
    path.write_text(STUDY.replace('"none"', '"dp"\nepsilon = 100.0'))
    loud = CliRunner().invoke(app, ["run", str(path), "--force"])
    assert loud.exit_code == 0
    assert "Beware" not in loud.output
