"""All algorithms on all data sets, which no paper compares."""

from fedclust.algorithms import ALGORITHMS

from ..experiment import Experiment, Panel, Task
from ..measures.comparison import versus_pooled
from .llf_table2 import SETS as LLF_SETS

SETS = {"penguins": "penguins", "grid": "fkm", **LLF_SETS}


def name(short: str, key: str) -> str:
    """A task's name."""
    return f"{short}, {key}"


PUBLISHED = {key: kind for key, kind in ALGORITHMS.items() if kind.has_reference()}

EXPERIMENT = Experiment(
    id="comparison",
    paper="fedclust",
    title="All algorithms on all data sets: objective, agreement with pooling, rounds, bytes",
    tasks=[
        Task(
            name(short, key),
            versus_pooled,
            {"name": data, "key": key, "soft": kind.traits.soft},
            runs=5,
            quick=1,
        )
        for short, data in SETS.items()
        for key, kind in PUBLISHED.items()
    ],
    panels=[
        Panel(
            title,
            {
                key: [(i, name(short, key), quantity) for i, short in enumerate(SETS)]
                for key in PUBLISHED
            },
            "",
            "",
            log_y=quantity in ("rounds", "bytes"),
            ticks=list(SETS),
        )
        for title, quantity in (
            ("Objective, divided by that of the pooled result", "objective"),
            ("Agreement with the pooled result (ARI)", "ARI(pooled)"),
            ("Rounds", "rounds"),
            ("Bytes that left a client, seeding and score included", "bytes"),
        )
    ],
    notes="20 clients, classes split by a Dirichlet distribution of 0.5, every algorithm with its own "
    "defaults and seeding. The pooled result is LLF on all rows together, best of three starts. "
    "The objective is inertia for k-means, and that of fuzzy c-means with a fuzzifier of 2 for fuzzy algorithms, over "
    "all rows; 1 is as good as pooling. Agreement with the pooled labels mixes two things: what an algorithm loses, "
    "and where it starts. An algorithm that finds another solution of the same quality scores low there. "
    "[Choosing an algorithm](choosing-an-algorithm.md) separates them, with spreads. "
    "Omitted: data sets that take minutes per run (mnist, covertype, kddcup99_10, birch1) or that the papers do not use.",
)
