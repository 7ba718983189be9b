"""Which algorithm to use, and what was measured of each: the tables of docs, for the terminal."""

from typing import NamedTuple


class Advice(NamedTuple):
    """A case, and what to use then."""

    case: str
    use: str


class Measured(NamedTuple):
    """Summary of an algorithm over all sets and runs: objective over the best known, and cost."""

    mean: float
    deviation: float
    worst: float
    rounds: int
    sent: int  # bytes from each client


ADVICE = (
    Advice(
        "owners have different rows",
        "llf-cm (k-means) or llf-fcm (fuzzy c-means); this is the default",
    ),
    Advice(
        "owners have different columns of the same records",
        "vertical-llf-cm or vertical-llf-fcm",
    ),
    Advice("columns of numbers and of categories", "llf-prototypes"),
    Advice("clusters of different spread, probabilities, or BIC", "llf-mixture"),
    Advice("clients can answer only once", "one-shot for k-means, ffcf for fuzzy c-means"),
    Advice(
        "clients should send little, in a few rounds, and the data have no heavy tails",
        "fkm",
    ),
    Advice(
        "only some clients take part in each round",
        'dwf with preset="reference" (measured on one set)',
    ),
    Advice("some clients may send false values", "robust-cm"),
    Advice("you compare with a paper", 'the paper\'s key, with preset="reference"'),
)

RUNS = 70  # of each algorithm: ten on each of seven sets
MEASURED = {
    "llf-cm": Measured(1.000, 0.000, 1.002, 9, 108_561),
    "fkm": Measured(1.054, 0.018, 1.355, 7, 4_003),
    "k-fed": Measured(1.294, 0.152, 2.662, 1, 593),
    "one-shot": Measured(1.081, 0.024, 1.366, 1, 593),
    "dwf": Measured(1.050, 0.020, 1.333, 28, 23_468),
    "ewf": Measured(1.080, 0.034, 1.336, 41, 28_575),
    "robust-cm": Measured(1.081, 0.041, 1.545, 21, 57_309),
    "vertical-llf-cm": Measured(1.052, 0.055, 1.282, 17, 702_424),
    "llf-fcm": Measured(1.000, 0.000, 1.001, 71, 106_830),
    "ffcm-avg1": Measured(1.000, 0.000, 1.001, 71, 106_830),
    "ffcm-avg2": Measured(1.155, 0.131, 3.251, 65, 38_170),
    "ffcf": Measured(1.046, 0.016, 1.206, 1, 2_197),
    "gdf-fcm": Measured(1.144, 0.040, 1.892, 94, 81_593),
    "c2f-fcm": Measured(1.134, 0.123, 3.251, 11, 9_102),
    "vertical-llf-fcm": Measured(1.034, 0.034, 1.361, 91, 4_029_085),
}
