"""DWF, Fig. 1: a centre whose client is not sampled."""

from ..experiment import Cell, Experiment, Task
from ..measures.dwf import absent_client

EXPERIMENT = Experiment(
    id="dwf-fig1",
    paper="Holzer, Jacob, Kavane 2023 (DWF)",
    title="Fig. 1: empty clusters stay where they are",
    tasks=[Task(key, absent_client, {"key": key}, quick=10) for key in ("dwf", "ewf")],
    cells=[
        Cell(f"movement of the {who} centres", key, key, who, None)
        for who in ("absent", "present")
        for key in ("dwf", "ewf")
    ],
    notes="The paper shows only a figure. Three blobs, one per client, two of them sampled: the centre of the third does "
    "not move. fedclust does not offer the paper's alternative, the relocation of empty centres as in scikit-learn.",
)
