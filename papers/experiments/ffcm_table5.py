"""FFCM, Table 5 and Fig. 4: the G2 sets."""

from ..experiment import Cell, Experiment, Panel, Task, curve
from ..measures.ffcm import FILES, IMITATED, SDS, g2_sets
from .ffcm_table2 import METHODS

PUBLISHED = {
    "central": ("2.42", "9.01", "30.98", "0.98", "99.80"),
    "avg1": ("2.43", "8.87", "30.33", "0.98", "99.24"),
    "avg2": ("2.41", "8.94", "30.38", "0.97", "95.55"),
}

# The 30 imitated sets are another draw in each of our runs, and one draw in all of the paper's. The
# central runs vary by nothing else: their standard deviations are the spread of a draw.
DRAWS = {"q25": 0.0163, "q50": 0.00751, "q75": 0.225, "min": 0.0, "max": 0.00523}
MERGED = (
    "the largest gap is that of sets in which the two centres merge. There it depends on when a run stops, and the paper does not "
    "print its tolerance. In 64 dimensions, with a standard deviation of 100, the gap of the central run is 99.0 after 20 "
    "rounds, 99.9 after 30 and 100.1 after 100, and that of avg1 is 98.5, 99.7 and 100.1 after 20, 30 and 1,000 local steps"
)
AVG2_MERGED = (
    "ours is the mean over runs of the largest gap. In a single set of 128 dimensions the gap lies between 92 and 97.6 in ten "
    "runs, with a mean of 94.4, so that the largest mean of a set is smaller. The paper does not say which of the two it prints"
)
MEDIAN = (
    "the median lies between the sets of 32 and 64 dimensions with a standard deviation of 50, whose gaps of 8.85 and 8.97 vary "
    "by .04 between runs. Quantiles of the means of ten runs give 8.913, those of all runs together 8.912, 100 rounds the "
    "same, and clients of random sizes, as in the authors' code, a lower one"
)
BECAUSE = {
    ("central", "max"): MERGED,
    ("avg1", "max"): MERGED,
    ("avg2", "max"): AVG2_MERGED,
    ("avg2", "q50"): MEDIAN,
}

EXPERIMENT = Experiment(
    id="ffcm-table5",
    title="Table 5 and Fig. 4: 100 G2 sets, 10 equal clients",
    tasks=[
        Task(name, g2_sets, {"key": key}, runs=10, quick=0, heavy=True)
        for name, key in METHODS.items()
    ],
    cells=[
        Cell(
            what,
            name,
            name,
            what,
            value,
            published_runs=1,
            published_sd=DRAWS[what],
            because=BECAUSE.get((name, what), ""),
        )
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
