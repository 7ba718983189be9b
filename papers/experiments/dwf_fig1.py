"""DWF, Fig. 1: a centre whose client is not asked."""

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
    notes="The paper draws. Three blobs, one per client, two of them asked: the third's centre does not "
    "move. The paper's other half, scikit-learn's relocation of empty centres, is not offered here.",
)
