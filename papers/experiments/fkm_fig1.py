"""FKM, Fig. 1(b): sixteen clusters, three degrees of heterogeneity."""

from ..experiment import Cell, Claim, Experiment, Panel, Task
from ..measures.fkm import fkm
from .fkm_fig3 import BETAS, METHODS, name, published

EXPERIMENT = Experiment(
    id="fkm-fig1",
    paper="Garst, Reinders 2023 (FKM)",
    title="Fig. 1(b): sixteen clusters, beta = 0.1, 1, 10",
    tasks=[
        Task(name(m, beta, 1.0), fkm, {"key": key, "beta": beta}, runs=20, quick=5)
        for m, key in METHODS.items()
        for beta in BETAS
    ],
    cells=[
        Cell(
            f"beta {beta:g}", m, name(m, beta, 1.0), "ARI", published(m, beta, 1.0), tolerance=0.01
        )
        for beta in BETAS
        for m in METHODS
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
            "ARI by heterogeneity",
            {m: [(beta, name(m, beta, 1.0), "ARI") for beta in BETAS] for m in METHODS},
            "beta",
            "ARI",
        )
    ],
    notes="On the authors' files; the published values are means of their stored results. k-FED with k' = 16; "
    "the paper's variant that knows each client's number of clusters is not run.",
)
