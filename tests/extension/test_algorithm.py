"""An algorithm from outside the package: in estimators, studies, consent, reports and conformance.

Everything here uses public names only; the algorithm itself is `sweep_means.py`.
"""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

import fedclust.core.registry
from fedclust import ConfigError, FederatedFuzzyCMeans, FederatedKMeans
from fedclust.algorithms import ALGORITHMS, make, register, unregister
from fedclust.algorithms.registry import PLANS
from fedclust.algorithms.vertical_c_means import VerticalCMeans
from fedclust.cli import app
from fedclust.client.config import read_client_config
from fedclust.client.consent import ConsentRefusal, allow_vertical
from fedclust.core import Plan, Work
from fedclust.core.registry import Registry
from fedclust.typing import FloatArray

from ..support.hostile_server import refusal, request
from .sweep_means import SweepMeans

ROOT = Path(__file__).parents[2]
CENTERS = np.array([[0.0, 0.0], [9.0, 9.0], [0.0, 9.0]])


@pytest.fixture
def registered() -> Iterator[None]:
    register(SweepMeans)
    yield
    unregister(SweepMeans)


def table(n: int = 150) -> FloatArray:
    rng = np.random.default_rng(0)
    rows: FloatArray = CENTERS[rng.integers(0, 3, n)] + rng.normal(size=(n, 2))
    return rows


def nearest_center(found: FloatArray) -> FloatArray:
    """How far each true centre is from what was found."""
    apart: FloatArray = np.linalg.norm(found[:, None] - CENTERS, axis=2).min(axis=0)
    return apart


@pytest.mark.usefixtures("registered")
def test_an_estimator_takes_its_key() -> None:
    model = FederatedKMeans(3, algorithm="sweep-means", random_state=0)
    model.fit(table(), clients=np.arange(150) % 3)
    assert isinstance(model.algorithm_, SweepMeans)
    assert nearest_center(model.cluster_centers_).max() < 0.5


@pytest.mark.parametrize("algorithm", [SweepMeans, SweepMeans(3, sweeps=4)])
def test_an_estimator_takes_its_class_or_an_instance_unregistered(algorithm: Any) -> None:
    model = FederatedKMeans(3, algorithm=algorithm, random_state=0).fit(table())
    assert nearest_center(model.cluster_centers_).max() < 0.5


def test_an_estimator_of_another_kind_refuses_it() -> None:
    with pytest.raises(ConfigError, match="FederatedFuzzyCMeans does not support 'sweep-means'"):
        FederatedFuzzyCMeans(3, algorithm=SweepMeans).fit(table())


def write_study(folder: Path) -> Path:
    for client, rows in (("north", table()[:80]), ("south", table()[80:])):
        lines = [f"{x:.3f},{y:.3f}" for x, y in rows]
        (folder / f"{client}.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    (folder / "study.toml").write_text(
        '[clients]\nnorth = "north.csv"\nsouth = "south.csv"\n'
        '[clustering]\nalgorithm = "sweep-means"\nn_clusters = 3\n'
    )
    return folder / "study.toml"


@pytest.mark.usefixtures("registered")
def test_a_study_and_its_report_take_its_key(tmp_path: Path) -> None:
    study, folder = write_study(tmp_path), tmp_path / "run"
    shown = CliRunner().invoke(app, ["run", str(study), "--out", str(folder)])
    assert shown.exit_code == 0, shown.output
    page = (folder / "report.html").read_text()
    assert "sweep-means" in page
    assert "Several k-means sweeps at every client, averaged by rows." in page


def test_a_study_refuses_a_key_that_is_not_registered(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["run", str(write_study(tmp_path))])
    assert shown.exit_code != 0
    assert "sweep-means" in shown.output


def ask(folder: Path, consent: str = "", **settings: Any) -> str:
    """What a client says against a plan of this algorithm; empty if it answers."""
    plan = Plan(SweepMeans(3, init=CENTERS, **settings))
    return refusal(folder, request(plan), consent)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("consent", "settings", "says"),
    [
        ("", {}, ""),
        ('algorithms = ["sweep-means"]', {}, ""),
        ('algorithms = ["llf-cm"]', {}, "'sweep-means' under algorithms"),
        ("", {"sweeps": 50}, ""),
        ("", {"sweeps": 51}, "sweeps = 51, this client allows sweeps = 50"),
        ("", {"min_rows": 1}, "min_rows = 1 is below min_count = 2"),
        ("max_clusters = 2", {}, "max_clusters = 2"),
    ],
)
def test_a_client_allows_it_within_its_limits(
    consent: str, settings: dict[str, Any], says: str, tmp_path: Path
) -> None:
    said = ask(tmp_path, consent, **settings)
    assert says in said
    assert bool(says) == bool(said)


def test_a_client_refuses_what_is_not_registered_there(tmp_path: Path) -> None:
    assert "no algorithm 'SweepMeans'" in ask(tmp_path)


@dataclass(frozen=True, eq=False)
class SlowColumns(VerticalCMeans):
    """K-means over split columns with a parameter by which a client's work grows."""

    passes: Annotated[int, Work(5)] = 1

    key: ClassVar[str] = "slow-columns"


@pytest.mark.parametrize(("passes", "allowed"), [(5, True), (6, False)])
def test_work_is_limited_over_split_columns_too(passes: int, allowed: bool, tmp_path: Path) -> None:
    file = tmp_path / "client.toml"
    file.write_text('[data]\nfile = "people.csv"\n[consent]\nsplit_columns = true\n')
    plan = SlowColumns(3, passes=passes)
    if allowed:
        allow_vertical(read_client_config(file), plan, 0)
    else:
        with pytest.raises(ConsentRefusal, match="passes = 6, this client allows passes = 5"):
            allow_vertical(read_client_config(file), plan, 0)


def test_a_parameter_without_a_role_is_rejected_at_registration() -> None:
    @dataclass(frozen=True, eq=False)
    class Endless(SweepMeans):
        """Has a work parameter that no client could limit."""

        repeats: int = 1

        key: ClassVar[str] = "endless"

    with pytest.raises(ConfigError, match=r"Endless.repeats needs a role"):
        register(Endless)
    assert "endless" not in ALGORITHMS
    assert "Endless" not in PLANS


def test_a_name_stands_for_one_class(registered: None) -> None:
    @dataclass(frozen=True, eq=False)
    class Impostor(SweepMeans):
        """Takes the key of a built-in algorithm."""

        key: ClassVar[str] = "llf-cm"

    register(SweepMeans)  # again, which changes nothing
    with pytest.raises(ConfigError, match="'llf-cm' is already in use"):
        register(Impostor)
    assert type(make("llf-cm", 2)) is not Impostor


def test_entry_points_are_imported_when_needed_and_never_replace_what_is_built_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = f"{SweepMeans.__module__}:SweepMeans"
    entries = [EntryPoint(name, place, "g") for name in ("sweep-means", "llf-cm")]
    entries.append(EntryPoint("broken", "no_such_package:Broken", "g"))
    monkeypatch.setattr(fedclust.core.registry, "entry_points", lambda group: entries)
    found: Registry[object] = Registry(ALGORITHMS.places, "g")
    assert list(found) == [*ALGORITHMS.places, "broken", "sweep-means"]
    assert found["sweep-means"] is SweepMeans
    assert found["llf-cm"] is ALGORITHMS["llf-cm"]
    with pytest.raises(ConfigError, match="'broken' of an installed package .* cannot be imported"):
        found["broken"]


def test_a_registered_algorithm_gets_the_conformance_suite() -> None:
    code = (
        "import sys, pytest; from fedclust.algorithms import register; "
        "from tests.extension.sweep_means import SweepMeans; register(SweepMeans); "
        "sys.exit(pytest.main(['tests/conformance', '-q', '-k', 'sweep-means', "
        "'-p', 'no:cacheprovider']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert int(done.stdout.split(" passed")[0].split()[-1]) >= 25
