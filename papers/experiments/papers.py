"""The five papers: what we conclude in words, and their experiments; how to read the page."""

from ..experiment import Experiment, Paper
from . import EXPERIMENTS

INTRODUCTION = [
    "# The papers, reproduced",
    "",
    "fedclust implements the algorithms of five papers. This page compares every number that they print, and",
    "every number that their authors stored for a figure, with what fedclust computes. It is written by",
    "`python -m papers page` from the runs in [docs/papers](papers). `make papers` adds the runs that are missing.",
    "",
]
LEGEND = [
    "How to read it:",
    "",
    "- **Reproduced** means that the difference is at most two standard errors plus the rounding of the printed number.",
    "  The standard error is that of a difference of two samples, the paper's and ours. The paper's runs have the spread of",
    "  ours, unless its authors stored or printed theirs. Where the starts of the paper's runs are known, ours are the same, and",
    "  only what is left to vary counts. Extremes and standard deviations have their errors from samples drawn from our runs.",
    "- **Too noisy** means that the limit is more than a quarter of the published number, so that agreement says little.",
    "- **Too few runs** gives no verdict. Cells need 30 to 100 runs, or 10 if a run is slow, or all starts of the paper.",
    "  `(7 of 30)` is a cell with 7 of the 30 runs that it needs.",
    "- Tables show `published / ours`. **Bold** differs, `~` is too noisy, and † marks runs that fall into two groups, which",
    "  the CSV file lists. `/ not run` is left for the next call of `make papers`.",
    "- Figures show means over runs, with a band of one standard deviation, or boxes of the runs where the paper has boxes.",
    "- A claim compares runs with the same seed in pairs. It holds if the mean difference is above two standard errors.",
    "",
    "For the speed compared with the authors' code, see [benchmarks](benchmarks.md). Where an algorithm deviates from its",
    "paper, [the algorithms](algorithms.md) say so, with the consequence.",
]


def _bibtex(kind: str, key: str, **fields: str) -> str:
    lines = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}"


def _of(*prefixes: str) -> list[Experiment]:
    return [e for i, e in EXPERIMENTS.items() if i.startswith(prefixes)]


FFCM = Paper(
    "FFCM",
    "M. Stallmann, A. Wilbik: Towards federated clustering: a federated fuzzy c-means algorithm (FFCM), "
    "AAAI 2022 workshop. Ten runs per number.",
    "**What holds:** avg2 beats avg1 wherever a client lacks clusters, in each of the paper's cases, in all or nearly all pairs of "
    "runs. **What does not:** that averaging as such fails. With the one local step that the paper prints, avg1 is lossless; it "
    "fails because the authors' code iterates every client to convergence and weights by the sum of u. Numbers of Tables 2 to "
    "4 that differ agree with ten runs of the authors' own code, which is given beside them: the print is off, "
    "twice by a factor of two. That a single client misses the hidden cluster of case 2 is true of some draws only. Of Table 5 all "
    "quantiles come out but one. The largest gaps do not, for reasons that are given there.",
    _of("ffcm"),
    bibtex=_bibtex(
        "inproceedings",
        "stallmann2022ffcm",
        author="Stallmann, Morris and Wilbik, Anna",
        title="Towards Federated Clustering: A Federated Fuzzy c-Means Algorithm ({FFCM})",
        booktitle="AAAI 2022 Workshop",
        year="2022",
    ),
)
FFCF = Paper(
    "FFCF",
    "A. Urio-Larrea: Federated clustering algorithm based on a fuzzy clustering feature vector, KDD 2024 poster. One run.",
    "**What holds:** all eight numbers, and one round suffices. All equal the output of the authors' script in five digits. Three "
    "count as different below, because the poster cuts their digits off where it rounds another. Its FFCM columns are those of "
    "the FFCM paper, on other data, so that they compare nothing.",
    _of("ffcf"),
    bibtex=_bibtex(
        "inproceedings",
        "uriolarrea2024ffcf",
        author="Urio-Larrea, Asier",
        title="Federated Clustering Algorithm based on a Fuzzy Clustering Feature Vector",
        booktitle="KDD 2024, poster",
        year="2024",
    ),
)
LLF = Paper(
    "LLF",
    "J. L. Corcuera Bárcena, F. Marcelloni, A. Renda, A. Bechini, P. Ducange: Federated c-means and fuzzy c-means "
    "clustering algorithms for horizontally and vertically partitioned data, IEEE Transactions on Artificial "
    "Intelligence, 2024. Ten runs per number.",
    "**What holds:** the main claim. With all clients LLF-FCM is the pooled algorithm, for split rows and for split columns, "
    "and from the authors' own starts the ARI of seven of the eight sets comes out to the printed digits. Table V comes out with "
    "one k-means at the server, as the paper writes. On s1 and s2 the runs fall into two groups there, one in a poor optimum, so that ten runs say little "
    "about a mean. GDF-FCM, of which there is no code, gives the printed values of s1 and s2. **What does not:** the Soft "
    "Davies-Bouldin index, a tenth of all numbers on this page, differs nearly everywhere. 229 million formulas were tried for it "
    "and none fits, so that the printed index must have been computed in another way than the paper writes. In Table III, "
    "pendigits and waveform differ: the printed ARI of .48 does not follow from the authors' uniform start, which gives .42, and for "
    "waveform Tables III and V print different values for the same result. "
    '"Within the first 10 rounds" is true of the look of the curves only.',
    _of("llf"),
    absent=("12 of the 16 cells of Table IV: our copy of the paper has lost them.",),
    bibtex=_bibtex(
        "article",
        "corcuera2024llf",
        author="Corcuera B{\\'a}rcena, Jos{\\'e} Luis and Marcelloni, Francesco and Renda, Alessandro "
        "and Bechini, Alessio and Ducange, Pietro",
        title="Federated c-means and Fuzzy c-means Clustering Algorithms for Horizontally and Vertically Partitioned Data",
        journal="IEEE Transactions on Artificial Intelligence",
        year="2024",
    ),
)
FKM = Paper(
    "FKM",
    "S. Garst, M. Reinders: Federated k-means clustering, 2023. 200 runs per number.",
    "**What holds:** FKM is as good as pooled k-means at every degree of heterogeneity of Fig. 1 and on the uneven clients of "
    "Fig. 4, and k-FED is not. All differences of FKM are below .015: of a hundred runs of the authors a few more end in a poor "
    "solution than of ours. **What to know:** the pooled result is scored by one ARI over all rows, and the federated ones by a mean of "
    "the clients' own ARIs. In the authors' script the clients of k-FED have the weights of another file, which raises its ARI with "
    "beta 0.1 by about .015. In Fig. 4 the authors' k-FED has 14 local clusters, not 16. The simplified "
    "silhouette of Fig. 5 is measured from the means of all rows of a cluster. All three were found in their code, and tested.",
    _of("fkm"),
    bibtex=_bibtex(
        "misc",
        "garst2023fkm",
        author="Garst, Swier and Reinders, Marcel",
        title="Federated K-means Clustering",
        howpublished="arXiv",
        year="2023",
    ),
)
DWF = Paper(
    "DWF",
    "P. Holzer, T. Jacob, S. Kavane: Dynamically weighted federated k-means, 2023. 100 runs per number.",
    "**What holds:** on the synthetic set, what the paper calls k-FED and its pooled k-means come out as printed, and DWF reaches the pooled "
    "optimum in every split, which k-FED does not. EWF reaches it only if clients are alike. With few clients in a round DWF stays ahead of k-FED, "
    "by most where clients differ (Figs 4 and 7). On MNIST DWF is ahead of k-FED in every pair "
    'of runs that we made, as the paper says. "MNIST" is the first 10,000 of the 60,000 images that the text names: with these, k-means '
    "gives the printed numbers, and with all of them it does not. **What to know:** on images ten runs of ours stand against a hundred. "
    "Extremes, and standard deviations of the better half, then rest on five runs. "
    "For images our clients remember distances from round to round, which changes no message and saves most of the time.",
    _of("dwf"),
    absent=(
        "FEMNIST, non-IID (36 numbers): the authors' file is larger than what the copies of their repository keep.",
        "The points of Figs 4 to 8: the paper prints no numbers, and its repository has those of a later study only.",
    ),
    bibtex=_bibtex(
        "misc",
        "holzer2023dwf",
        author="Holzer, Patrick and Jacob, Tania and Kavane, Shubham",
        title="Dynamically Weighted Federated k-Means",
        year="2023",
    ),
)
PAPERS = (FFCM, FFCF, LLF, FKM, DWF)
COMPARISON = Paper(
    "All algorithms compared",
    "",
    "No paper compares all of them. Over split rows, the lossless algorithms (`llf-cm`, `llf-fcm`, `ffcm-avg1` as printed) lose "
    "nothing, and the others cost less. The last column is the advice of [choosing an algorithm](choosing-an-algorithm.md).",
    _of("comparison"),
)
