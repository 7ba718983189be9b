"""FFCF: the poster's table, and rounds against FFCM."""

from ..experiment import Cell, Claim, Experiment, Task
from ..measures.ffcf import ffcf

PUBLISHED = {
    "100-1000-100": (1, ("0.62", "17.05"), ("0.63", "17.18")),
    "100-1000-1000": (2, ("0.61", "17.11"), ("0.63", "17.21")),
    "1000-100-100": (3, ("0.62", "17.09"), ("0.63", "17.18")),
    "1000-1000-1000": (0, ("0.61", "17.10"), ("0.62", "17.14")),
}
# The poster truncates after two digits instead of rounding.
CUT = 0.0101

OTHER = "the default uses rows in random order; FFCM's printed numbers are for other data"

EXPERIMENT = Experiment(
    id="ffcf-table",
    paper="Urio-Larrea 2024 (FFCF)",
    title="The poster's table: one round against FFCM",
    tasks=[
        Task(
            f"{rows}, {name}",
            ffcf,
            {"config": config, "key": key, "preset": preset},
            quick=1,
            runs=1 if name == "FFCF, published" else 10,
        )
        for rows, (config, _, _) in PUBLISHED.items()
        for name, key, preset in (
            ("FFCF, published", "ffcf", "reference"),
            ("FFCF", "ffcf", "default"),
            ("FFCM avg2", "ffcm-avg2", "reference"),
        )
    ],
    cells=[
        Cell(f"{rows}, {what}", name, f"{rows}, {name}", what, value, tolerance=room, because=OTHER)
        for rows, (_, mine, theirs) in PUBLISHED.items()
        for name, values, room in (
            ("FFCF, published", mine, CUT),
            ("FFCF", mine, CUT),
            ("FFCM avg2", theirs, CUT),
        )
        for what, value in zip(("within", "outside"), values, strict=True)
    ]
    + [
        Cell(f"{rows}, rounds", name, f"{rows}, {name}", "rounds", None)
        for rows in PUBLISHED
        for name in ("FFCF", "FFCM avg2")
    ],
    claims=[
        Claim(f"{rows}: fewer rounds than FFCM", "rounds", f"{rows}, FFCF", f"{rows}, FFCM avg2")
        for rows in PUBLISHED
    ],
    notes="The FFCM columns of the poster are the FFCM paper's own numbers, on other data; here all "
    "run on the poster's files. The published code has a fixed split and fixed seeds, so one run suffices.",
)
