"""A tier from outside the package: in estimators, studies, consent, reports and guarantees.

Everything here uses public names only; the tier itself is `rounded.py`.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedclust import ConfigError, FederatedKMeans
from fedclust.algorithms import make, register_transform, unregister_transform
from fedclust.cli import app
from fedclust.core import Plan
from fedclust.tiers import TIERS, Tier, guarantee, register_tier, unregister_tier
from fedclust.typing import FloatArray

from ..support.hostile_server import START, refusal, request
from .rounded import Rounded, RoundNumbers

WORDS = "Numbers leave a client with 1 digits after the point."


@pytest.fixture
def registered() -> Iterator[None]:
    register_tier(Rounded)
    register_transform(RoundNumbers)
    yield
    unregister_tier(Rounded)
    unregister_transform(RoundNumbers)


def table(n: int = 120) -> FloatArray:
    rng = np.random.default_rng(0)
    rows: FloatArray = 6.0 * rng.integers(0, 2, (n, 1)) + rng.normal(size=(n, 2))
    return rows


@pytest.mark.usefixtures("registered")
def test_an_estimator_takes_its_name_and_gives_its_guarantee() -> None:
    model = FederatedKMeans(2, privacy="rounded", init=table()[:2], random_state=0)
    model.fit(table(), clients=np.arange(120) % 3)
    assert model.guarantee_.tier == "rounded"
    assert model.guarantee_.parameters == {"digits": 2}
    assert "2 digits" in str(guarantee("rounded"))
    exact = FederatedKMeans(2, init=table()[:2], random_state=0).fit(table())
    apart = np.abs(model.cluster_centers_ - exact.cluster_centers_).max()
    assert 0 < apart < 0.01


def write_study(folder: Path, privacy: str) -> Path:
    for client, rows in (("north", table()[:70]), ("south", table()[70:])):
        lines = [f"{x:.3f},{y:.3f}" for x, y in rows]
        (folder / f"{client}.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    (folder / "study.toml").write_text(
        '[clients]\nnorth = "north.csv"\nsouth = "south.csv"\n'
        '[clustering]\nalgorithm = "lossless"\nn_clusters = 2\n'
        f"[privacy]\n{privacy}\n"
    )
    return folder / "study.toml"


@pytest.mark.usefixtures("registered")
def test_a_study_takes_its_name_and_its_own_key_and_reports_its_guarantee(tmp_path: Path) -> None:
    study, folder = write_study(tmp_path, 'tier = "rounded"\ndigits = 1'), tmp_path / "run"
    shown = CliRunner().invoke(app, ["run", str(study), "--out", str(folder)])
    assert shown.exit_code == 0, shown.output
    privacy = json.loads((folder / "model.json").read_text())["privacy"]
    assert (privacy["tier"], privacy["guarantee"]) == ("rounded", WORDS)
    assert privacy["parameters"] == {"digits": 1}
    assert WORDS in (folder / "report.html").read_text()


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("privacy", "says"),
    [
        ('tier = "rounded"\ndigits = -1', "digits must be at least 0"),
        ('tier = "none"\ndigits = 1', "tier = 'none' has no parameter digits"),
        ('tier = "round"', "rounded"),
    ],
)
def test_a_study_checks_its_key(privacy: str, says: str, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["run", str(write_study(tmp_path, privacy))])
    assert shown.exit_code != 0
    assert says in " ".join(shown.output.split())


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("transforms", "says"),
    [
        ((), "RoundNumbers(digits=2)"),
        ((RoundNumbers(3),), "RoundNumbers(digits=2)"),
        ((RoundNumbers(2),), ""),
        ((RoundNumbers(0),), ""),
    ],
)
def test_a_client_demands_it(
    transforms: tuple[RoundNumbers, ...], says: str, tmp_path: Path
) -> None:
    plan = Plan(make("llf-cm", 3, init=START), transforms)
    said = refusal(tmp_path, request(plan), 'privacy = "rounded"')
    assert says in said
    assert bool(says) == bool(said)


def test_a_client_refuses_a_transform_that_is_not_registered_there(tmp_path: Path) -> None:
    plan = Plan(make("llf-cm", 3, init=START), (RoundNumbers(2),))
    assert "no transform 'RoundNumbers'" in refusal(tmp_path, request(plan))


def test_only_tiers_of_a_free_name_are_registered() -> None:
    class Nameless(Rounded):
        """Not a dataclass of its own."""

        name = "nameless"

    class Second(Tier):
        """Takes the name of a built-in tier."""

        name = "secure"

    for kind, words in (
        (Nameless, "must be a frozen dataclass"),
        (Second, "'secure' is already in use"),
    ):
        with pytest.raises(ConfigError, match=words):
            register_tier(kind)
    assert "nameless" not in TIERS
