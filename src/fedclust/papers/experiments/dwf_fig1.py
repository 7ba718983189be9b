"""DWF, Fig. 1: a centre whose client is not asked."""

from ..experiment import Cell, Experiment, Task
from ..measures.dwf import absent_client

EXPERIMENT = Experiment(
    id="dwf-fig1",
    paper="Holzer, Jacob, Kavane 2023 (DWF)",
    title="Fig. 1: empty clusters stay where they are",
    tasks=[Task(key, absent_client, {"key": key}, quick=10) for key in ("dwf", "ewf")],
    cells=[
        Cell("movement of the absent client's centre", key, key, "absent", "0.0")
        for key in ("dwf", "ewf")
    ],
    claims=[],
    notes="Three blobs, one per client, two of them asked; scikit-learn would move the empty centre "
    "away.",
)
