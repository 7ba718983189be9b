"""DWF, Figs 4 and 7: the synthetic set, by the number of clients sampled in a round."""

from collections.abc import Mapping

from ..experiment import Claim, Experiment, Panel, Task
from ..measures.dwf import dwf
from .dwf_tables import METHODS, SPLITS, TABLES

SAMPLED: Mapping[int, tuple[int, ...]] = {
    100: (5, 10, 20, 40, 60, 80, 100),
    10: (1, 2, 4, 6, 8, 10),
}
FEDERATED = {m: key for m, key in METHODS.items() if m != "k-means"}
K_MEANS = "k-means, all rows"
# k-FED takes no time, and the claims compare DWF with ten clients per round.
MORE_RUNS = {("k-FED", c, n) for c, counts in SAMPLED.items() for n in counts}
MORE_RUNS |= {("DWF", 100, 10)}


def name(split: str, method: str, clients: int, n_sampled: int) -> str:
    """A task's name."""
    return f"{split}, {method}, {n_sampled} of {clients}"


def panels(
    splits: tuple[str, ...], sampled: Mapping[int, tuple[int, ...]], all_rows: str
) -> list[Panel]:
    """One panel per split and quantity: all methods, and k-means on all rows as a line."""
    return [
        Panel(
            f"{split}, {clients} clients",
            {
                **{m: [(a, name(split, m, clients, a), q) for a in counts] for m in FEDERATED},
                "k-means": [(a, all_rows.format(split=split), q) for a in counts],
            },
            "clients per round",
            q,
            better_half=True,
        )
        for clients, counts in sampled.items()
        for q in TABLES
        for split in splits
    ]


def tasks(
    data: str,
    splits: tuple[str, ...],
    sampled: Mapping[int, tuple[int, ...]],
    runs: int,
    *,
    heavy: bool,
) -> list[Task]:
    """A task per split, method and number of sampled clients."""
    return [
        Task(
            name(split, m, clients, n_sampled),
            dwf,
            # With all clients the run is one of the tables', and made only once.
            {"name": data, "split": split, "key": key}
            | ({"n_clients": clients} if clients < 100 else {})
            | ({"n_sampled": n_sampled} if n_sampled < 100 else {}),
            runs=30 if data == "synthetic" and (m, clients, n_sampled) in MORE_RUNS else runs,
            quick=0,
            heavy=heavy,
        )
        for m, key in reversed(FEDERATED.items())
        for clients, counts in sampled.items()
        for split in splits
        for n_sampled in counts
    ]


EXPERIMENT = Experiment(
    id="dwf-fig4",
    title="Figs 4 and 7: synthetic data, by clients per round",
    tasks=[
        Task(K_MEANS, dwf, {"name": "synthetic", "split": "IID", "key": "scikit-learn"}, quick=5),
        *tasks("synthetic", SPLITS, SAMPLED, 6, heavy=True),
    ],
    claims=[
        Claim(
            f"{split}: DWF has a better score than k-FED with 10 of 100 clients per round",
            "score",
            name(split, "DWF", 100, 10),
            name(split, "k-FED", 100, 10),
        )
        for split in SPLITS
    ],
    panels=panels(SPLITS, SAMPLED, K_MEANS),
    notes="The paper prints no numbers. It has 100 runs, for 20 numbers of clients; ours are 30 of k-FED, and of DWF with 10 of 100 clients per round, and six of the others. "
    "As in the paper, curves are over the better half of the runs, by score. "
    "EWF and DWF start from all clients, as in the authors' code.",
)
