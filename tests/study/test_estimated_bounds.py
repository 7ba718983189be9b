"""Studies that estimate bounds: in every tier, followed too, and nothing of a single extreme."""

import json
from pathlib import Path

import numpy as np
import pytest

from fedclust.core import ConfigError
from fedclust.study.read import read_study
from fedclust.study.run import run_study, survey_study
from fedclust.typing import FloatArray

STUDY = """
[clients]
north = "north.csv"
south = "south.csv"
west = "west.csv"
[clustering]
algorithm = "lossless"
n_clusters = 3
[data]
bounds = "estimate"
{data}
[features]
age = {{}}
dose = {{ unit = "mg" }}
[privacy]
tier = "{tier}"
[outputs]
labels = "csv"
"""


def write_study(
    folder: Path, tier: str = "secure", data: str = "", *, deal: int = 3, extreme: float = 1e6
) -> Path:
    rng = np.random.default_rng(0)
    places = np.array([[30.0, 90.0], [45.0, 120.0], [70.0, 190.0]])
    rows = rng.normal(places[np.arange(450) % 3], [1.0, 4.0]).round(3)
    rows[8, 1] = extreme
    owner = np.arange(450) // deal % 3
    folder.mkdir(exist_ok=True)
    for c, name in enumerate(("north", "south", "west")):
        lines = [",".join(map(str, row)) for row in rows[owner == c].tolist()]
        (folder / f"{name}.csv").write_text("\n".join(["age,dose", *lines]) + "\n")
    (folder / "study.toml").write_text(STUDY.format(tier=tier, data=data))
    return folder / "study.toml"


@pytest.mark.parametrize("tier", ["none", "paper", "guarded", "secure"])
@pytest.mark.parametrize("data", ["", 'scaling = "standard"\nmissing = "mean"'])
def test_every_tier_clusters_within_estimated_bounds(tier: str, data: str, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    done = run_study(read_study(write_study(tmp_path, tier, data)), tmp_path / "run")
    (age, dose) = done.profile.estimated
    assert 20 <= age.low <= 31
    assert 68 <= age.high <= 80
    assert dose.high <= 260
    assert dose.beyond is None if tier == "guarded" else dose.beyond and dose.beyond >= 5
    centers = done.model.preparation.in_units(done.model.centers)
    assert np.sort(centers[:, 0]) == pytest.approx([30, 45, 70], abs=2)
    report = (done.folder / "report.html").read_text()
    assert "Bounds were estimated from counts of values in bins: age from " in report
    assert "Values beyond count as the nearest bound" in report


@pytest.mark.parametrize("tier", ["none", "secure"])
def test_the_value_of_a_single_extreme_row_is_not_in_the_result(tier: str, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    found = []
    for place, extreme in enumerate((5_000.0, 1e6, 1e15)):
        folder = tmp_path / str(place)
        done = run_study(read_study(write_study(folder, tier, extreme=extreme)), folder / "run")
        profile = json.loads((done.folder / "profile.json").read_text())
        for client in profile["clients"]:
            client.pop("name")
        found.append((done.model.centers.tobytes(), profile["estimated"], profile["clusters"]))
    assert found[0] == found[1] == found[2]


def test_any_split_gives_the_same_bits_and_no_more_than_three_queries(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    one, other = (
        run_study(read_study(write_study(tmp_path / str(n), deal=n)), tmp_path / str(n) / "run")
        for n in (3, 37)
    )
    assert np.array_equal(one.model.centers, other.model.centers)
    (asked,) = [p for p in one.profile.phases if p.name == "estimating bounds"]
    assert 2 <= asked.rounds <= 3


@pytest.mark.parametrize("tier", ["dp", "secure+dp"])
def test_noise_is_charged_for_bounds_and_scale(tier: str, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    pytest.importorskip("opendp")
    path = write_study(tmp_path, tier, 'scaling = "standard"\nmissing = "mean"')
    path.write_text(path.read_text().replace("[outputs]", "epsilon = 40\n[outputs]"))
    done = run_study(read_study(path), tmp_path / "run")
    assert [one.beyond for one in done.profile.estimated] == [None, None]
    centers = done.model.preparation.in_units(done.model.centers)
    assert np.sort(centers[:, 0]) == pytest.approx([30, 45, 70], abs=4)
    assert done.model.about.privacy.parameters["range_share"] == 0.1
    assert done.model.about.privacy.parameters["scale_share"] == 0.1


def test_noise_that_hides_the_values_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    path = write_study(tmp_path, "dp")
    path.write_text(path.read_text().replace("[outputs]", "epsilon = 0.1\n[outputs]"))
    with pytest.raises(Exception, match="too few values to estimate the bounds of column 'age'"):
        run_study(read_study(path), tmp_path / "run")


def test_check_asks_for_public_bounds_in_words(tmp_path: Path) -> None:
    notes = survey_study(read_study(write_study(tmp_path))).notes
    assert any("the name 'age' suggests age = { low = 0, high = 120 }" in note for note in notes)


def test_what_cannot_be_estimated_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    text = path.read_text()
    path.write_text(text[: text.index("[features]")] + '[privacy]\ntier = "secure"\n')
    with pytest.raises(ConfigError, match="needs the columns by name; list them"):
        read_study(path)
    path.write_text(text.replace("[data]", '[data]\nsplit = "columns"\nid = "age"'))
    with pytest.raises(ConfigError, match=r"scales its columns by its own \[bounds\]"):
        read_study(path)


def rows_of(n: int = 60) -> dict[str, FloatArray]:
    rng = np.random.default_rng(0)
    return {f"c{i:02d}": rng.normal([[20.0, 5.0], [60.0, 9.0]] * (n // 2), 1.0) for i in range(3)}


def test_clients_that_follow_compute_the_same_bounds_and_their_own_win(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from tests.support.following import Federation

    federation = Federation(tmp_path / "f", rows_of(), k=2)
    text = federation.path.read_text().replace("low = 0, high = 1", "")
    federation.path.write_text(text.replace("[data]", '[data]\nbounds = "estimate"'))
    done = federation.run(tmp_path / "run")
    (x0, x1) = done.profile.estimated
    assert x0.low > 10
    assert x1.high < 15
    ledger = (federation.folder / "c00" / "ledger.jsonl").read_text()
    assert 2 <= sum('"ranges, round' in line for line in ledger.splitlines()) <= 3

    own = Federation(tmp_path / "own", rows_of(), k=2)
    own.path.write_text(federation.path.read_text())
    for name in own.rows:
        toml = own.folder / name / "client.toml"
        toml.write_text(toml.read_text() + "[bounds]\nx0 = [19.0, 61.0]\n")
    (x0, _) = own.run(tmp_path / "run2").profile.estimated
    assert 18.5 <= x0.low <= 19.0
    assert 61.0 <= x0.high <= 61.5
