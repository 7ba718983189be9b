"""LLF, Table IV: uneven clients (Dirichlet 0.5)."""

from ..experiment import Cell, Claim, Experiment, Task
from ..measures.llf import llf
from .llf_table2 import KEYS, SETS
from .llf_table3 import because

# The printed cells of the other sets are illegible in our copy of the paper.
PUBLISHED = {
    ("PE", "LLF-FCM"): "0.48",
    ("PE", "GDF-FCM"): "0.41",
    ("ST", "LLF-FCM"): "0.53",
    ("ST", "GDF-FCM"): "0.40",
}
EXCEPT = ("XC", "WA")  # here the paper reports no loss

EXPERIMENT = Experiment(
    id="llf-table4",
    title="Table IV: ARI with uneven clients, gamma = 1",
    tasks=[
        Task(f"{short}, {method}", llf, {"name": name, "key": key, "alpha": 0.5})
        for short, name in SETS.items()
        for method, key in KEYS.items()
    ],
    cells=[
        Cell(
            method,
            short,
            f"{short}, {method}",
            "ARI(true)",
            PUBLISHED.get((short, method)),
            because=because(method, short, "ARI(true)"),
        )
        for short in SETS
        for method in KEYS
    ],
    claims=[
        Claim(
            f"{short}: GDF-FCM falls behind LLF-FCM",
            "ARI(true)",
            f"{short}, GDF-FCM",
            f"{short}, LLF-FCM",
        )
        for short in SETS
        if short not in EXCEPT
    ],
    notes="LLF-FCM equals the pooled run for every split, so its cells are those of Table III. "
    "The other printed cells are lost in our copy of the paper.",
)
