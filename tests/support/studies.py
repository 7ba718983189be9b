"""Studies over the three clients of the example."""

from pathlib import Path

from fedclust.study.read import read_study
from fedclust.study.settings import Study

STUDY = """
[clients]
north = "north/people.csv"
south = "south/people.csv"
west = "west/people.csv"

[data]
id = "person"
scaling = "{scaling}"
missing = "{missing}"

[clustering]
algorithm = "{algorithm}"
n_clusters = {k}
n_init = {n_init}

[privacy]
tier = "{tier}"

[outputs]
labels = "csv"
labels_in = "run"
report = false
"""


def write_study(
    folder: Path,
    algorithm: str = "llf-fcm",
    scaling: str = "standard",
    missing: str = "drop",
    k: str = "3",
    tier: str = "none",
    more: str = "",
    n_init: int = 2,
) -> Study:
    settings = {"algorithm": algorithm, "k": k, "n_init": n_init, "tier": tier}
    text = STUDY.format(scaling=scaling, missing=missing, **settings)
    (folder / "s.toml").write_text(text + more)
    return read_study(folder / "s.toml")


def for_machines(study: Study) -> Path:
    """The study's file without what only one process can do."""
    text = study.path.read_text()
    for line in ('id = "person"\n', 'labels = "csv"\n', 'labels_in = "run"\n'):
        text = text.replace(line, "")
    study.path.write_text(text)
    return study.path


BOUNDS = "[features]\nheight = { low = -50, high = 50 }\nwidth = { low = -50, high = 50 }\n"
