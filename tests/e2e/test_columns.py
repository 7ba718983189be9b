"""Columns split between real processes: the result is the same with masks and after a fault."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nvflare", reason="studies across machines need fedclust[nvflare]")
from .processes import CLIENTS, Federation, federation

pytestmark = pytest.mark.e2e

SECRET = "north, south and west know it"
COLUMNS = {"north": ("income", "debt"), "south": ("calls",), "west": ("spent", "visits")}
UNDER_WAY = r"vertical-llf-fcm, round 1\d:"


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[Federation]:
    with federation(tmp_path) as made:
        write_owners(made)
        yield made


def write_owners(fed: Federation, n: int = 200) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-9, 9, (n, 5))
    at = 0
    for name, columns in COLUMNS.items():
        part, at = X[:, at : at + len(columns)], at + len(columns)
        lines = [",".join(["customer", *columns])]
        who = rng.permutation(n)[:190]
        lines += [f"c{i}," + ",".join(map(repr, part[i].tolist())) for i in who]
        (fed.kit(name) / "people.csv").write_text("\n".join(lines) + "\n")
        (fed.kit(name) / "client.toml").write_text(
            f'[data]\nfile = "people.csv"\nid = "customer"\nsecret = "{SECRET}"\n'
            "[consent]\nsplit_columns = true\n"
        )


def write_study(fed: Federation) -> Path:
    """Uniform rows and seven clusters, so that the run does not converge within its rounds."""
    files = "".join(f'{c} = "kits/clients/{c}/people.csv"\n' for c in CLIENTS)
    bounds = "".join(f"{n} = {{ low = -9, high = 9 }}\n" for c in COLUMNS.values() for n in c)
    path = fed.folder / "study.toml"
    path.write_text(
        f'[clients]\n{files}[data]\nsplit = "columns"\n'
        '[clustering]\nalgorithm = "lossless"\nfuzzy = true\nn_clusters = 7\nfuzzifier = 1.5\n'
        f"tol = 0.0\nmax_rounds = 150\n[features]\n{bounds}"
        '[privacy]\ntier = "secure"\n'
    )
    return path


def results_of(folder: Path) -> tuple[Any, ...]:
    model = json.loads((folder / "model.json").read_text())
    profile = json.loads((folder / "profile.json").read_text())
    return {**model, "created": "", "run_id": ""}, profile, (folder / "history.jsonl").read_text()


def same_result(fed: Federation, study: Path) -> None:
    from fedclust.study import read_study
    from fedclust.study.run import run_study

    local = fed.folder / "local" / study.name  # with what client.toml says elsewhere
    local.parent.mkdir()
    text = study.read_text().replace('"columns"', '"columns"\nid = "customer"')
    text = text.replace('"kits/', '"../kits/')
    local.write_text(text + '[outputs]\nlabels = "csv"\nlabels_in = "run"\n')
    run_study(read_study(local), fed.folder / "here", secret=SECRET)
    assert results_of(fed.folder / "study-run") == results_of(fed.folder / "here")
    for name in CLIENTS:
        for kind in ("csv", "centers.json"):
            (there,) = (fed.kit(name) / "labels").glob(f"study-*.{kind}")
            assert (
                there.read_text() == (fed.folder / "here" / "labels" / f"{name}.{kind}").read_text()
            )
    assert (fed.folder / "study-run" / "report.html").exists()


def test_an_owner_that_is_killed_comes_back_and_the_run_is_that_in_one_process(
    fed: Federation,
) -> None:
    study = write_study(fed)
    clients = {name: fed.client(name) for name in CLIENTS}
    server = fed.server(study, "--deadline", "6", "--wait", "120")
    assert "must be trusted with geometry" in server.says("Privacy, secure.*")
    server.says(UNDER_WAY, 120)
    clients["west"].kill()
    fed.client("west")
    assert server.ends(300) == 0, server.said()
    assert "submitting the job again" in server.said()
    same_result(fed, study)


def test_an_owner_that_stays_away_stops_the_study_in_words_and_it_resumes(
    fed: Federation,
) -> None:
    study = write_study(fed)
    fed.client("north")
    fed.client("south")
    waiting = fed.server(study, "--wait", "8")
    assert waiting.ends(90) == 1
    assert "every client is needed, but west did not connect" in " ".join(waiting.said().split())
    west = fed.client("west")
    begun = fed.server(study, "--resume", "--deadline", "6", "--wait", "20")
    begun.says(UNDER_WAY, 120)
    west.kill()
    assert begun.ends(400) == 1
    assert "west" in begun.said().splitlines()[-1]
    fed.client("west")
    second = fed.server(study, "--resume")
    assert second.ends(200) == 0, second.said()
    assert "the run continues from its last saved round" in second.said()
    same_result(fed, study)
