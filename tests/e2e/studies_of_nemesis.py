"""The studies that faults hit, and the results that they have in one process."""

import json
from pathlib import Path
from typing import Any

from .processes import CLIENTS, Federation, results_of
from .schedules import Setting
from .test_columns import COLUMNS, SECRET, write_owners

_ROUNDS = 25
_BOUNDS = "[features]\nheight = { low = -10, high = 20 }\nwidth = { low = -10, high = 30 }\n"
_FUZZY = f'algorithm = "llf-fcm"\nfuzzifier = 1.5\nmax_rounds = {_ROUNDS}\ntol = 0.0'
_NOISY = 'algorithm = "llf-cm"'

# A round takes long enough for a fault to fall into it.
SLOW = """
import time
from fedclust.client.endpoint import ClientEndpoint

answer = ClientEndpoint.answer

def slow(self, raw, author=""):
    time.sleep(0.1)
    return answer(self, raw, author)

ClientEndpoint.answer = slow
"""


def prepare(fed: Federation, setting: Setting) -> Path:
    """Write the clients' data and the study; return the study's file."""
    if setting in (Setting.NONE_COLUMNS, Setting.SECURE_COLUMNS):
        write_owners(fed)
        return _columns(fed, "secure" if setting is Setting.SECURE_COLUMNS else "none")
    if setting is Setting.NOISY_ROWS:
        for name in CLIENTS:
            with open(fed.kit(name) / "client.toml", "a") as file:
                file.write("[consent]\nepsilon = 4.0\n")
        privacy = 'tier = "secure+dp"\nepsilon = 4.0'
        return fed.write_study(_NOISY, privacy=privacy, features=_BOUNDS)
    if setting is Setting.SECURE_ROWS:
        return fed.write_study(_FUZZY, k=7, privacy='tier = "secure"', features=_BOUNDS)
    needed = 2 if setting is Setting.QUORUM_ROWS else 3
    return fed.write_study(_FUZZY, k=7, min_clients=needed)


def _columns(fed: Federation, tier: str) -> Path:
    files = "".join(f'{c} = "kits/clients/{c}/people.csv"\n' for c in CLIENTS)
    bounds = "".join(f"{n} = {{ low = -9, high = 9 }}\n" for c in COLUMNS.values() for n in c)
    path = fed.folder / "study.toml"
    path.write_text(
        f'[clients]\n{files}[data]\nsplit = "columns"\n'
        '[clustering]\nalgorithm = "lossless"\nfuzzy = true\nn_clusters = 7\nfuzzifier = 1.5\n'
        f"tol = 0.0\nmax_rounds = {_ROUNDS}\n[features]\n{bounds}"
        f'[privacy]\ntier = "{tier}"\n'
    )
    return path


def expected(fed: Federation, study: Path, setting: Setting) -> Path:
    """The folder of the same study in one process."""
    from fedclust.study import read_study
    from fedclust.study.run import run_study

    if setting not in (Setting.NONE_COLUMNS, Setting.SECURE_COLUMNS):
        return fed.run_here(study)
    local = fed.folder / "local" / study.name
    local.parent.mkdir()
    text = study.read_text().replace('"columns"', '"columns"\nid = "customer"')
    text = text.replace('"kits/', '"../kits/')
    local.write_text(text + '[outputs]\nlabels = "csv"\nlabels_in = "run"\n')
    run_study(read_study(local), fed.folder / "here", secret=SECRET)
    return fed.folder / "here"


def differences(fed: Federation, out: Path, here: Path) -> list[str]:
    """What differs between a run across machines and one in one process."""
    names = ("model.json", "profile.json", "history.jsonl")
    pairs: list[tuple[str, Any, Any]] = list(
        zip(names, results_of(out), results_of(here), strict=True)
    )
    run = json.loads((out / "model.json").read_text())["run_id"][:8]
    for name in CLIENTS:
        there = fed.kit(name) / "labels" / f"study-{run}.csv"
        labels = there.read_text() if there.exists() else "none"
        pairs.append((f"labels of {name}", labels, (here / "labels" / f"{name}.csv").read_text()))
    return [name for name, one, other in pairs if one != other]
