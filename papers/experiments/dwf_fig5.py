"""DWF, Figs 5, 6 and 8: MNIST and FEMNIST, by the number of clients sampled in a round."""

from ..experiment import Experiment, Task
from ..measures.dwf import dwf
from .dwf_fig4 import K_MEANS, panels, tasks
from .dwf_tables import SPLITS

MNIST = {100: (5, 20, 50, 100), 10: (1, 4, 10)}
FEMNIST = {100: (5, 20, 50, 100)}
WRITTEN = SPLITS[:2]  # of FEMNIST, what can be had

FIG_5 = Experiment(
    id="dwf-fig5",
    title="Figs 5 and 8: MNIST, by clients per round",
    tasks=[
        Task(
            K_MEANS,
            dwf,
            {"name": "mnist", "split": "IID", "key": "scikit-learn"},
            runs=10,
            quick=0,
            heavy=True,
        ),
        *tasks("mnist", SPLITS, MNIST, 2, heavy=True),
    ],
    panels=panels(SPLITS, MNIST, K_MEANS),
    notes="The paper prints no numbers. It has 100 runs, for 20 numbers of clients (10 in Fig. 8). It shows the better half of them. Two runs here show the shape of the curves, and no more: each point is the better one.",
)
FIG_6 = Experiment(
    id="dwf-fig6",
    title="Fig. 6: FEMNIST, by clients per round",
    tasks=[
        *(
            Task(
                f"k-means, {split}",
                dwf,
                {"name": "femnist", "split": split, "key": "scikit-learn"},
                runs=10,
                quick=0,
                heavy=True,
            )
            for split in WRITTEN
        ),
        *tasks("femnist", WRITTEN, FEMNIST, 2, heavy=True),
    ],
    panels=panels(WRITTEN, FEMNIST, "k-means, {split}"),
    notes="The paper prints no numbers. It has 100 runs, for 20 numbers of clients. It shows the better half of them. Two runs here show the shape of the curves, and no more: each point is the better one. The files of the non-IID third "
    "cannot be had.",
)
