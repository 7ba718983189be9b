"""LLF, Table II: how fast the centres converge."""

from ..experiment import Experiment, Panel, Task, curve
from ..measures.llf import llf

SETS = {
    "XC": "xclara",
    "S1": "s1",
    "S2": "s2",
    "PE": "pendigits",
    "WA": "waveform",
    "PH": "phoneme",
    "RI": "rice",
    "ST": "statlog_landsat",
}
GAMMAS = (0.25, 0.5, 0.75, 1.0)


def _name(short: str, gamma: float) -> str:
    return f"{short}, gamma {gamma:g}"


EXPERIMENT = Experiment(
    id="llf-table2",
    paper="Corcuera Barcena et al. 2024 (LLF)",
    title="Table II: tolerance index by round, LLF-FCM, 20 clients",
    tasks=[
        Task(_name(short, g), llf, {"name": name, "key": "llf-fcm", "gamma": g}, quick=3)
        for short, name in SETS.items()
        for g in GAMMAS
    ],
    panels=[
        Panel(
            short,
            {f"gamma {g:g}": curve(_name(short, g), "tolerance", range(1, 31)) for g in GAMMAS},
            "round",
            "change of the centres",
            log_y=True,
        )
        for short in SETS
    ],
    notes="The paper shows only figures. With all clients the curve falls to rounding errors; with a "
    "fraction of them the centres keep moving with the sample of clients.",
)
