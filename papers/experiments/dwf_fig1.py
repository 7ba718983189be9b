"""DWF, Fig. 1: a centre whose client is not sampled."""

from ..experiment import Claim, Experiment, Scatter, Task
from ..measures.dwf import absent_client, toy_rows

SCENARIOS = {
    "equal weights, relocation": (True, True),
    "dynamic weights, relocation": (False, True),
    "equal weights, empty centres stay": (True, False),
    "dynamic weights, empty centres stay": (False, False),
}

EXPERIMENT = Experiment(
    id="dwf-fig1",
    title="Fig. 1: empty clusters stay where they are",
    tasks=[
        Task(name, absent_client, {"equal": equal, "relocate": relocate}, runs=30, quick=10)
        for name, (equal, relocate) in SCENARIOS.items()
    ],
    claims=[
        Claim(
            f"relocation moves the centre of the absent client ({weights})",
            "absent",
            f"{weights}, empty centres stay",
            f"{weights}, relocation",
        )
        for weights in ("equal weights", "dynamic weights")
    ],
    panels=[
        Scatter(name, toy_rows, [(name, "end")], 3, moves=(name, "start")) for name in SCENARIOS
    ],
    notes="The paper shows a picture and prints no number. Three blobs, one per client, of which the upper left is not "
    "sampled. A line leads from a centre before the round to the same centre after it. fedclust does not offer "
    "relocation; the two scenarios with it are computed for this picture only.",
)
