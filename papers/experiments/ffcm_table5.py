"""FFCM, Table 5 and Fig. 4: the G2 sets."""

from ..experiment import Cell, Experiment, Panel, Task, curve
from ..measures.ffcm import FILES, IMITATED, SDS, g2_sets
from .ffcm_table2 import METHODS

PUBLISHED = {
    "central": ("2.42", "9.01", "30.98", "0.98", "99.80"),
    "avg1": ("2.43", "8.87", "30.33", "0.98", "99.24"),
    "avg2": ("2.41", "8.94", "30.38", "0.97", "95.55"),
}

EXPERIMENT = Experiment(
    id="ffcm-table5",
    title="Table 5 and Fig. 4: 100 G2 sets, 10 equal clients",
    tasks=[
        Task(name, g2_sets, {"key": key}, runs=10, quick=0, heavy=True)
        for name, key in METHODS.items()
    ],
    cells=[
        Cell(what, name, name, what, value)
        for name, values in PUBLISHED.items()
        for what, value in zip(("q25", "q50", "q75", "min", "max"), values, strict=True)
    ],
    panels=[
        Panel(
            "Gap by overlap",
            {name: curve(name, "gap", SDS) for name in METHODS},
            "standard deviation of the clusters",
            "normalised gap",
        ),
        Panel(
            "Outside error by dimension",
            {name: curve(name, "outside", (*FILES, *IMITATED)) for name in METHODS},
            "dimensions",
            "outside SSE",
            log_x=True,
        ),
    ],
    notes="Quantiles of the gap over the sets. The files of the 30 sets of 256, 512 and 1024 dimensions are too large to be "
    "had. They are drawn in the same way as the others (integers around 500 and 600), another draw in each run.",
)
