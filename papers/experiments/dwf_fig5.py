"""DWF, Fig. 5: MNIST, by the number of clients sampled in a round."""

from ..experiment import Claim, Experiment, Panel, Task
from ..measures.dwf import dwf
from .dwf_fig4 import FEDERATED, name
from .dwf_tables import SPLITS as THREE

SAMPLED = (5, 25, 100)
SPLITS = (*THREE, "writers")  # the same percentages of the 539 writers

EXPERIMENT = Experiment(
    id="dwf-fig5",
    paper="Holzer, Jacob, Kavane 2023 (DWF)",
    title="Figs 5 and 6: MNIST, by clients per round; by writer instead of FEMNIST",
    tasks=[
        Task(
            name(split, m, 100, n_sampled),
            dwf,
            # The last run is shared with the tables, and made only once.
            {
                "name": "mnist",
                "split": split,
                "key": key,
                **({"n_sampled": n_sampled} if n_sampled < 100 else {}),
            },
            runs=1,
            quick=0,
        )
        for split in SPLITS
        for m, key in FEDERATED.items()
        for n_sampled in SAMPLED
    ],
    claims=[
        Claim(
            "non-IID, all sampled: DWF's score beats EWF's",
            "score",
            name("non-IID", "DWF", 100, 100),
            name("non-IID", "EWF", 100, 100),
        )
    ],
    panels=[
        Panel(
            split,
            {m: [(a, name(split, m, 100, a), "score") for a in SAMPLED] for m in FEDERATED},
            "clients per round",
            "score",
        )
        for split in SPLITS
    ],
    notes="Too slow for --quick: a run of DWF over 60,000 images takes minutes.",
)
