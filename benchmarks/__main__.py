"""Run all benchmarks and write docs/benchmarks.md: ``python -m benchmarks``.

Titles of sections as arguments measure these alone; the others stay on the page as they are.
"""

import os
import platform
import re
import sys
from datetime import date
from pathlib import Path

import numba
import numpy as np
import skfuzzy
import sklearn

from fedclust.kernels.threads import n_threads

from . import authors, choice, local_step, loop, memory, privacy, vertical

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"

SECTIONS = [
    (
        "One hard step",
        "Assign every row to its nearest centre and sum the rows of each, against one Lloyd\n"
        "iteration of `sklearn.cluster.KMeans` on the same array. Sums are float64 for both types.",
        local_step.hard,
    ),
    (
        "One fuzzy step",
        "Memberships and their sums in float64, against one iteration of `skfuzzy.cmeans`, and\n"
        "against the two matrix products that a step contains. With a fuzzifier other than 2 and\n"
        "1.5 every membership takes two logarithms and two exponentials. Processor time of one\n"
        "thread, in which other programs do not count.",
        local_step.fuzzy,
    ),
    (
        "Missing cells",
        "Both steps over rows of which a fifth of the cells is missing, against complete rows.",
        local_step.missing,
    ),
    (
        "Exact sums",
        "The same steps in integers, with each record's contribution rounded once. The result\n"
        "does not depend on the split or order of the rows.",
        privacy.exact,
    ),
    (
        "Secure aggregation",
        "Keys, signatures and pairwise masks, all clients in one process, one after the other.",
        privacy.masks,
    ),
    (
        "Memory of a step",
        "Increase of the peak resident memory during the step, in a separate process.",
        memory.table,
    ),
    (
        "The loop",
        "One process, LLF-CM: the costs of rounds, clients and messages besides the kernels.",
        loop.table,
    ),
    (
        "Small clients",
        "One process, LLF-CM, processor time of one thread: a few wide rows at each client, and\n"
        "very many clients of 20 rows. Rounds of the default start count, too.",
        loop.small_clients,
    ),
    (
        "Split columns",
        "A round over a million records, four owners in one process, against one owner of all\n"
        "columns, which is the pooled case of the same algorithm. For comparison: LLF over pooled\n"
        "rows, whose step never creates the records x clusters matrix that split columns need.",
        vertical.table,
    ),
    (
        "Alignment of records",
        "Two owners share half of their ids; both are in this process.",
        vertical.alignment,
    ),
    (
        "Choice of the number of clusters",
        "A sweep over 2 to 15 clusters against one clustering with 15, five clients, one process.\n"
        "Work is `Choice.work`: the number of centres that a row is compared with.",
        choice.cost,
    ),
    (
        "The papers' own code",
        "Seconds per round, one thread: ten clusters in 16 dimensions, 20 equal clients, or four\n"
        "owners of four columns. The authors' code was measured once on a similar machine, so the\n"
        "ratio is an order of magnitude.",
        authors.table,
    ),
]


def head() -> str:
    """What the page begins with."""
    return (
        "# Speed and memory\n\n"
        "Written by `make bench`, or section by section: `python -m benchmarks 'One fuzzy step'`.\n"
        "The candidates alternate in one run, and the best time of each counts. Targets are\n"
        "ratios, because absolute times depend on the machine.\n\n"
        f"Python {platform.python_version()}, NumPy {np.__version__}, numba {numba.__version__},\n"
        f"scikit-learn {sklearn.__version__}, skfuzzy {skfuzzy.__version__};\n"
        f"{n_threads()} threads on {os.cpu_count()} CPUs.\n"
    )


def main(titles: list[str]) -> None:
    """Measure the sections, print them and write the page."""
    unknown = set(titles) - {title for title, _, _ in SECTIONS}
    if unknown:
        sys.exit(f"no sections: {', '.join(sorted(unknown))}")
    known = re.split(r"(?m)^## ", PAGE.read_text())[1:] if PAGE.exists() else []
    page = {text.partition("\n")[0]: text.partition("\n")[2].strip() for text in known}
    for title, text, measure in SECTIONS:
        if title in titles or not titles:
            print(f"measuring: {title.lower()}", file=sys.stderr, flush=True)
            page[title] = "\n".join([text, "", *measure(), "", f"Measured on {date.today()}."])
            print(f"## {title}\n\n{page[title]}\n", flush=True)
    written = [f"## {title}\n\n{page[title]}\n" for title, _, _ in SECTIONS if title in page]
    PAGE.write_text("\n".join([head(), *written]))


if __name__ == "__main__":
    main(sys.argv[1:])
