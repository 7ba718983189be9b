"""FKM, Fig. 1(b): sixteen clusters, three degrees of heterogeneity."""

from ..experiment import Cell, Claim, Experiment, Panel, Task, curve
from ..measures.fkm import LOCAL, fkm, informed
from .fkm_fig3 import BETAS, METHODS, cells, name, settings

# Medians that the authors' figure shows, read from its file, figures/full_dataset.eps.
INFORMED = {0.1: ".9018", 1.0: ".8703", 10.0: ".8649"}
# The number of local clusters with the highest median of ours; the panel shows all. At beta 10 that would be 13, with
# .94: the paper's search found no better number than 16.
BEST = {0.1: 5, 1.0: 8, 10.0: 16}

EXPERIMENT = Experiment(
    id="fkm-fig1",
    title="Fig. 1(b): sixteen clusters, beta = 0.1, 1, 10",
    tasks=[
        *(
            Task(name(m, beta, 1.0), fkm, settings(key, beta, 1.0), quick=5)
            for m, key in METHODS.items()
            for beta in (BETAS[:1] if m == "central" else BETAS)
        ),
        *(
            Task(f"informed k-FED, beta {beta:g}", informed, {"beta": beta}, quick=5)
            for beta in BETAS
        ),
    ],
    cells=cells(1.0, 50, "")
    + [
        Cell(
            "1", f"informed k-FED, beta {beta:g}", f"informed k-FED, beta {beta:g}",
            f"ARI@{BEST[beta]}", INFORMED[beta], statistic="median", published_runs=200,
        )
        for beta in BETAS
    ],
    claims=[
        Claim(
            f"beta {beta:g}: FKM above k-FED",
            "ARI",
            name("k-FED", beta, 1.0),
            name("FKM", beta, 1.0),
        )
        for beta in BETAS
    ],
    panels=[
        Panel(
            "informed k-FED by number of local clusters",
            {f"beta {beta:g}": curve(f"informed k-FED, beta {beta:g}", "ARI", LOCAL) for beta in BETAS},
            "local clusters",
            "ARI",
            published={f"beta {beta:g}": [(BEST[beta], float(INFORMED[beta]))] for beta in BETAS},
        )
    ],
    notes="On the authors' files. k-FED has 16 local clusters; the informed k-FED has one other number, found by search: "
    "5, 8 and 16. With beta 10 our search finds a better one than the paper's, 13, with an ARI of .94.",
)  # fmt: skip
