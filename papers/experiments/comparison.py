"""All algorithms on all data sets, which no paper compares."""

from fedclust.algorithms import ALGORITHMS

from ..experiment import Experiment, Grid, Task
from ..measures.comparison import versus_pooled
from .llf_table2 import SETS as LLF_SETS

SETS = {"penguins": "penguins", "grid": "fkm", **LLF_SETS}
ON_CATEGORIES = ("llf-prototypes",)  # without categories it is llf-cm
COMPARED = {
    key: kind
    for key, kind in ALGORITHMS.items()
    if kind.has_reference() and key not in ON_CATEGORIES
}
KINDS = (("k-means", False), ("fuzzy c-means", True))
ADVICE = {key: str(getattr(kind, "use_for", "")) for key, kind in COMPARED.items()}


def name(short: str, key: str) -> str:
    """A task's name."""
    return f"{short}, {key}"


def _lines(quantity: str, soft: bool) -> dict[str, list[tuple[float, str, str]]]:
    return {
        key: [(i, name(short, key), quantity) for i, short in enumerate(SETS)]
        for key, kind in COMPARED.items()
        if kind.traits.soft == soft
    }


EXPERIMENT = Experiment(
    id="comparison",
    title="All algorithms on all data sets",
    tasks=[
        Task(
            name(short, key),
            versus_pooled,
            {"name": data, "key": key, "soft": kind.traits.soft},
            runs=10,
            quick=1,
        )
        for short, data in SETS.items()
        for key, kind in COMPARED.items()
    ],
    grids=[
        Grid(
            f"{kind}: objective, divided by that of the pooled result",
            _lines("objective", soft),
            list(SETS),
            3,
            ADVICE,
            "advice",
        )
        for kind, soft in KINDS
    ]
    + [
        Grid(f"{kind}: {title}", _lines(quantity, soft), list(SETS))
        for title, quantity in (
            ("rounds", "rounds"),
            ("bytes that left a client, start and score included", "bytes"),
        )
        for kind, soft in KINDS
    ],
    notes="20 clients, classes split by a Dirichlet distribution of 0.5, every algorithm with its own "
    "defaults and start. The pooled result is the lossless algorithm on all rows together, the best of three starts. "
    "The objective is inertia for k-means, and that of fuzzy c-means with a fuzzifier of 2 for fuzzy algorithms, over "
    "all rows; 1 is as good as pooling. Every value is a mean and a standard deviation over runs, which differ in split and start. "
    "[Choosing an algorithm](choosing-an-algorithm.md) separates what an algorithm loses from where it starts. "
    "Omitted: data sets that take minutes per run (mnist, covertype, kddcup99_10, birch1) or that the papers do not use; "
    "and algorithms that are from none of the papers: `llf-prototypes`, which is `llf-cm` on numbers, `llf-mixture`, and "
    "`robust-cm`.",
)
