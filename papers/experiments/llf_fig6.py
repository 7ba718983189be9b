"""LLF, Fig. 6: columns split between 2, 4, 5, 8 and 16 clients."""

from ..experiment import Cell, Experiment, Panel, Task, curve
from ..measures.llf import vertical

SPLITS: dict[str, tuple[int, ...]] = {
    "centralised": (),
    "2 x 8": (8,),
    "4 x 4": (4, 8, 12),
    "1-2-3-4-6": (1, 3, 6, 10),
    "8 x 2": tuple(range(2, 16, 2)),
    "16 x 1": tuple(range(1, 16)),
}

EXPERIMENT = Experiment(
    id="llf-fig6",
    title="Fig. 6: vertical LLF-FCM on pendigits",
    tasks=[Task(name, vertical, {"cuts": cuts}, quick=1) for name, cuts in SPLITS.items()],
    cells=[Cell("ARI(true)", name, name, "ARI(true)", "0.48") for name in SPLITS],
    panels=[
        Panel(
            "All splits lie on one curve",
            {name: curve(name, "change", range(1, 31)) for name in SPLITS},
            "round",
            "change of the distance matrix",
            log_y=True,
        )
    ],
    notes="We start from random records; the authors draw centres, which owners of columns cannot do together without "
    "public bounds. That all splits agree is exact, and is the point of the figure.",
)
