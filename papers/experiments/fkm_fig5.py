"""FKM, Fig. 5: digits of ten writers."""

from ..experiment import Cell, Claim, Experiment, Task
from ..measures.fkm import femnist

KEYS = {"central": "central", "FKM": "fkm", "k-FED": "k-fed"}

EXPERIMENT = Experiment(
    id="fkm-fig5",
    paper="Garst, Reinders 2023 (FKM)",
    title="Fig. 5: FEMNIST digits of ten writers, 60 clusters",
    tasks=[Task(m, femnist, {"key": key}, runs=10, quick=2) for m, key in KEYS.items()],
    cells=[Cell("silhouette", "FKM", "FKM", "silhouette", ".0896", tolerance=0.01)]
    + [
        Cell(what, m, m, what, None)
        for what in ("silhouette", "simplified silhouette")
        for m in KEYS
        if (what, m) != ("silhouette", "FKM")
    ],
    claims=[
        Claim(f"{higher} above {lower} ({what})", what, lower, higher)
        for what in ("silhouette", "simplified silhouette")
        for lower, higher in (("k-FED", "FKM"), ("FKM", "central"))
    ],
    notes="The paper shows only a figure; the published value is the mean of the authors' stored results.",
)
