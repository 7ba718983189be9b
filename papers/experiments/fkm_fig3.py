"""FKM, Fig. 3 with Fig. 6: noise, heterogeneity, points per cluster; ARI by round."""

from ..experiment import Cell, Claim, Experiment, Panel, Task, curve
from ..measures.fkm import fkm

BETAS = (0.1, 1.0, 10.0)
METHODS = {
    "central": "central",
    "FKM": "fkm",
    "FKM, reference preset": "fkm, reference",
    "k-FED": "k-fed",
}
FKM_ARI = {  # mean over the authors' stored results: 200 runs, round 100
    1.0: (".955", (".949", ".958", ".957"), (".690", ".729", ".852")),
    1.1: (".924", (".926", ".922", ".927"), (".640", ".703", ".819")),
    1.2: (".888", (".880", ".886", ".887"), (".598", ".650", ".775")),
    1.3: (".840", (".834", ".844", ".840"), (".542", ".613", ".729")),
    1.4: (".785", (".777", ".786", ".768"), (".480", ".568", ".680")),
    1.5: (".725", (".697", ".707", ".709"), (".432", ".520", ".607")),
}
POINTS = (50, 100, 200)


def name(method: str, beta: float, noise: float, points: int = 50) -> str:
    """A task's name."""
    return f"{method}, beta {beta:g}, noise {noise:g}, {points} points"


def published(method: str, beta: float, noise: float) -> str:
    """Mean of the authors' stored results."""
    central, fkm_line, k_fed = FKM_ARI[noise]
    if method == "central":
        return central
    return (k_fed if method == "k-FED" else fkm_line)[BETAS.index(beta)]


EXPERIMENT = Experiment(
    id="fkm-fig3",
    paper="Garst, Reinders 2023 (FKM)",
    title="Fig. 3, Fig. 6: noise, heterogeneity, points per cluster",
    tasks=[
        Task(
            name(m, beta, noise, points),
            fkm,
            {"key": key, "beta": beta, "noise": noise, "points": points},
            quick=2 if points == 50 else 1,
        )
        for m, key in METHODS.items()
        for beta in BETAS
        for noise in FKM_ARI
        for points in POINTS
    ],
    cells=[
        Cell(
            f"noise {noise:g}, beta {beta:g}",
            m,
            name(m, beta, noise),
            "ARI",
            published(m, beta, noise),
            tolerance=0.02,
            because="k-FED's start at the server is drawn differently" if m == "k-FED" else "",
        )
        for noise in FKM_ARI
        if noise > 1
        for beta in BETAS
        for m in METHODS
    ],
    claims=[
        Claim(
            f"noise {noise:g}, beta {beta:g}: FKM above k-FED",
            "ARI",
            name("k-FED", beta, noise),
            name("FKM", beta, noise),
        )
        for noise in FKM_ARI
        for beta in BETAS
    ],
    panels=[
        Panel(
            f"beta {beta:g}, {points} points",
            {
                m: [(noise, name(m, beta, noise, points), "ARI") for noise in FKM_ARI]
                for m in METHODS
            },
            "noise",
            "ARI",
        )
        for points in POINTS
        for beta in BETAS
    ]
    + [
        Panel(
            f"FKM by round, beta {beta:g}",
            {
                f"noise {noise:g}": curve(name("FKM", beta, noise), "ARI", range(1, 21))
                for noise in FKM_ARI
            },
            "round",
            "ARI",
        )
        for beta in BETAS
    ],
    notes="On the authors' files. ARI is the mean over clients, weighted by their rows, as published; "
    '20 rounds instead of 100. "FKM" seeds with neighbourhood means, the reference preset with rows.',
)
