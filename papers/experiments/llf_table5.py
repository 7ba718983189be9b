"""LLF, Table V: careful seeding, LLF-FCM against C2F-FCM."""

from ..experiment import Experiment, Task
from ..measures.llf import llf
from .llf_table2 import GAMMAS, SETS, name
from .llf_table3 import cells, displacements

LLF_ROWS = {
    "XC": (
        ".01 .01 .00 .00",
        "1.00 1.00 1.00 1.00",
        ".99 .99 .99 .99",
        ".05 .05 .05 .05",
        ".26 .26 .26 .26",
    ),
    "S1": (
        ".05 .08 .04 .04",
        ".99 .98 .99 .99",
        ".99 .99 .99 .99",
        ".04 .06 .04 .04",
        ".54 .55 .54 .54",
    ),
    "S2": (
        ".10 .10 .05 .09",
        ".98 .98 .99 .98",
        ".95 .95 .96 .95",
        ".12 .14 .07 .13",
        ".51 .52 .49 .51",
    ),
    "PE": (
        ".37 .39 .40 .39",
        ".91 .90 .90 .91",
        ".56 .56 .56 .57",
        "2.95 2.04 1.68 1.43",
        ".80 .76 .73 .72",
    ),
    "WA": (
        ".03 .02 .01 .00",
        ".99 .99 1.00 1.00",
        ".24 .24 .24 .24",
        ".83 .85 .85 .85",
        ".53 .53 .53 .53",
    ),
    "PH": (
        ".01 .01 .00 .00",
        ".98 .99 .99 1.00",
        ".15 .15 .15 .15",
        "1.00 .97 .97 .97",
        ".22 .21 .21 .21",
    ),
    "RI": (
        ".02 .01 .01 .00",
        ".99 .99 1.00 1.00",
        ".68 .68 .68 .68",
        ".21 .22 .22 .22",
        ".25 .25 .25 .25",
    ),
    "ST": (".06 - - -", "- - - -", ".53 .53 .53 .53", ".31 .32 .31 .31", ".78 - .78 .78"),
}
C2F_ROWS = {
    "XC": (
        ".01 .01 .00 .00",
        "1.00 1.00 1.00 1.00",
        ".99 .99 .99 .99",
        ".05 .05 .05 .05",
        ".26 .26 .26 .26",
    ),
    "S1": (
        ".17 .25 .17 .13",
        ".97 .95 .96 .97",
        ".97 .94 .96 .97",
        ".16 .31 .32 .27",
        ".58 .61 .60 .59",
    ),
    "S2": (
        ".19 .24 .23 .19",
        ".95 .94 .94 .94",
        ".92 .92 .92 .92",
        ".13 .13 .16 .14",
        ".53 .53 .53 .53",
    ),
    "PE": (
        "1.41 1.04 .73 .72",
        ".84 .86 .88 .89",
        ".54 .54 .55 .55",
        "1.51 1.22 1.55 1.26",
        ".78 .72 .70 .69",
    ),
    "WA": (
        ".03 .02 .01 .01",
        ".98 .99 .99 .99",
        ".24 .24 .24 .24",
        ".85 .84 .84 .83",
        ".53 .53 .53 .53",
    ),
    "PH": (
        ".02 .01 .01 .00",
        ".96 .97 .98 .99",
        ".15 .15 .15 .15",
        "1.00 1.00 .98 .97",
        ".21 .21 .21 .21",
    ),
    "RI": (
        ".02 .01 .01 .00",
        ".98 .99 .99 1.00",
        ".68 .68 .68 .68",
        ".22 .21 .22 .22",
        ".25 .25 .25 .25",
    ),
    "ST": (".10 - - -", "- - - .99", ".54 .53 .53 .53", ".31 .32 - .33", ".78 .79 .79 .79"),
}
ROWS = {"LLF-FCM": LLF_ROWS, "C2F-FCM": C2F_ROWS}


CAREFUL = (
    "differences of at most .04: on pendigits 30 rounds do not come to rest (from the authors' uniform starts ARI(true) is "
    ".42 at round 30 and .45 at round 60), so that the start decides, and the paper leaves details of its seeding open"
)


ONE_RUN = (
    "one run decides. A pooled run in a poor optimum adds .38 to its displacement, and .04 to a mean of ten: the printed values of "
    "s1 fit one such run in ten, and ours are one in thirty. With half of the clients, the printed XB shows a federated run in a poor "
    "optimum, too. That is one of the paper's 40 such runs and none of our 120 (Fisher's exact test: p = .25)"
)


ON_THE_EDGE = (
    "a difference of .040 where .039 is allowed. One in twenty numbers that agree is as far apart"
)


CLOSE_CENTRES = (
    "XB divides by the squared distance of the closest two centres, and on pendigits all printed XB of LLF-FCM and C2F-FCM are "
    "below ours, also in Table III, where the starts are known"
)


def because(method: str, short: str, quantity: str) -> str:
    """Reasons that were tested."""
    if quantity == "SDB":
        return "no formula was found for this index, as in Table III"
    if (method, short) == ("C2F-FCM", "PH"):
        return ON_THE_EDGE
    if (short, quantity) == ("PE", "XB"):
        return CLOSE_CENTRES
    if (method, short) == ("LLF-FCM", "S1"):
        return ONE_RUN
    return CAREFUL if short == "PE" and method == "LLF-FCM" else ""


def _task(short: str, data: str, method: str, gamma: float) -> Task:
    key = {"LLF-FCM": "llf-fcm", "C2F-FCM": "c2f-fcm"}[method]
    slow = method == "C2F-FCM" and short in ("PE", "WA", "ST")
    settings = {"name": data, "key": key, "gamma": gamma, "start": "seeded"}
    return Task(name(short, method, gamma), llf, settings, quick=0 if slow else 2, heavy=slow)


EXPERIMENT = Experiment(
    id="llf-table5",
    title="Table V: careful seeding, against C2F-FCM",
    tasks=[_task(short, data, m, g) for m in ROWS for short, data in SETS.items() for g in GAMMAS],
    cells=cells(ROWS, because, shared_starts=False),
    panels=displacements(ROWS),
    notes="C2F-FCM as the paper describes it: uniform centres, then one plain k-means++ start at the server in the first "
    "round. Careful seeding with one k-means at the server, as the paper describes it; fedclust's default is the best of ten. The pooled run starts from k-means++ on all rows, so that the displacement is not zero even with all clients.",
)
