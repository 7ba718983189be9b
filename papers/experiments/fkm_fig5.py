"""FKM, Figs 5 and 7: digits of ten writers."""

from ..experiment import Cell, Claim, Experiment, Panel, Task, curve
from ..measures.fkm import digits, rows_of_writers

METHODS: dict[str, dict[str, object]] = {
    "central": {"key": "scikit-learn"},
    "FKM": {"key": "fkm"},
    "k-FED": {"key": "k-fed"},
    "informed k-FED": {"key": "k-fed", "n_local": 21},
}
# Medians that the authors' figures show, read from their files, FEMNIST_silh_V2.eps and
# FEMNIST_ssilh_V2.eps in figures/.
PUBLISHED = {
    "silhouette": (".1027", ".0938", ".0791", ".0834"),
    "simplified silhouette": (".2330", ".2326", ".1997", ".2027"),
}

EXPERIMENT = Experiment(
    id="fkm-fig5",
    title="Figs 5 and 7: digits of ten writers, 60 clusters",
    tasks=[
        Task("writers", rows_of_writers, {}, runs=1, quick=1),
        *(
            Task(m, digits, settings, runs=10, quick=1, heavy=True)
            for m, settings in METHODS.items()
        ),
    ],
    cells=[
        Cell(f"median {what}", m, m, what, value, statistic="median", published_runs=200)
        for what, values in PUBLISHED.items()
        for m, value in zip(METHODS, values, strict=True)
    ],
    claims=[
        Claim(f"FKM above {lower} ({what})", what, lower, "FKM")
        for what in PUBLISHED
        for lower in ("k-FED", "informed k-FED")
    ],
    panels=[
        Panel(
            what,
            {m: [(i, m, what)] for i, m in enumerate(METHODS)},
            "",
            what,
            published={m: [(i, float(PUBLISHED[what][i]))] for i, m in enumerate(METHODS)},
            boxes=True,
            ticks=list(METHODS),
        )
        for what in PUBLISHED
    ]
    + [
        Panel(
            "Fig. 7: images of each writer",
            {"images": curve("writers", "rows", range(1, 11))},
            "writer",
            "images",
            bars=True,
        )
    ],
    notes="The figures are box plots, so medians are compared. The simplified silhouette is the authors': distances to the means of "
    "all rows of a cluster, which the centres of k-FED are not. The informed k-FED has 21 local clusters, as in the "
    "authors' notebook.",
)
