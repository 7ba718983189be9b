"""FFCM, Table 5 and Fig. 4: the G2 sets."""

from ..experiment import Cell, Experiment, Panel, Task, curve
from ..measures.ffcm import g2_sets
from .ffcm_table2 import METHODS

PUBLISHED = {
    "central": ("2.42", "9.01", "30.98", "0.98", "99.80"),
    "avg1": ("2.43", "8.87", "30.33", "0.98", "99.24"),
    "avg2": ("2.41", "8.94", "30.38", "0.97", "95.55"),
}
FEWER = "the paper uses 100 sets, of which the 70 with 2 to 128 dimensions are available"

EXPERIMENT = Experiment(
    id="ffcm-table5",
    paper="Stallmann, Wilbik 2022 (FFCM)",
    title="Table 5, Fig. 4: G2 sets, 10 equal clients",
    tasks=[Task(name, g2_sets, {"key": key}, runs=3, quick=1) for name, key in METHODS.items()],
    cells=[
        Cell(what, name, name, what, value, tolerance=0.01 * float(value), because=FEWER)
        for name, values in PUBLISHED.items()
        for what, value in zip(("q25", "q50", "q75", "min", "max"), values, strict=True)
    ],
    panels=[
        Panel(
            "Knowledge gap by overlap",
            {name: curve(name, "gap", range(10, 101, 10)) for name in METHODS},
            "standard deviation of the clusters",
            "normalised gap",
        ),
        Panel(
            "Outside error by dimension",
            {name: curve(name, "outside", (2, 4, 8, 16, 32, 64, 128)) for name in METHODS},
            "dimensions",
            "outside SSE",
        ),
    ],
    notes=f"Quartiles of the gap over sets; {FEWER}.",
)
