"""DWF, Figs 4 and 7: the synthetic set, by the number of clients sampled in a round."""

from ..experiment import Claim, Experiment, Panel, Task
from ..measures.dwf import dwf
from .dwf_tables import METHODS, SPLITS

SAMPLED = {100: (5, 10, 20, 40, 60, 80, 100), 10: (1, 2, 4, 6, 8, 10)}
FEDERATED = {m: key for m, key in METHODS.items() if m != "k-means"}


def name(split: str, method: str, clients: int, n_sampled: int) -> str:
    """A task's name."""
    return f"{split}, {method}, {n_sampled} of {clients}"


EXPERIMENT = Experiment(
    id="dwf-fig4",
    paper="Holzer, Jacob, Kavane 2023 (DWF)",
    title="Figs 4 and 7: synthetic data, by clients per round",
    tasks=[
        Task(
            name(split, m, clients, n_sampled),
            dwf,
            {
                "name": "synthetic",
                "split": split,
                "key": key,
                "n_clients": clients,
                "n_sampled": n_sampled,
            },
            runs=5,
            quick=1,
        )
        for clients, counts in SAMPLED.items()
        for split in SPLITS
        for m, key in FEDERATED.items()
        for n_sampled in counts
    ],
    claims=[
        Claim(
            f"{split}: DWF's score beats k-FED's with 10 of 100 sampled",
            "score",
            name(split, "DWF", 100, 10),
            name(split, "k-FED", 100, 10),
        )
        for split in SPLITS
    ],
    panels=[
        Panel(
            f"{split}, {clients} clients",
            {m: [(a, name(split, m, clients, a), "score") for a in counts] for m in FEDERATED},
            "clients per round",
            "score",
        )
        for clients, counts in SAMPLED.items()
        for split in SPLITS
    ],
    notes="The paper shows only figures. We make fewer runs than its 100, for fewer numbers of clients. Fig. 8 (MNIST, 10 clients) is not run.",
)
